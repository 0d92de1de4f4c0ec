import Foundation

/// Where the server is.
package struct ServerAddress: Hashable, Sendable {
    package let url: URL
    /// For people: without what is the same everywhere.
    package let shortText: String

    package static let standard = "ws://127.0.0.1:4040/v1/ws"
    private static let path = "/v1/ws"

    /// - Parameter text: `ws://` or `wss://`, a host, perhaps a port; without a path, the usual one is added.
    package init(_ text: String) throws(Failure) {
        guard var parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            ["ws", "wss"].contains(scheme), let host = parts.host, !host.isEmpty
        else {
            throw Failure(.usage, "\(Label(text).text) is not the address of a server, such as \(Self.standard)")
        }
        if parts.path.isEmpty || parts.path == "/" { parts.path = Self.path }
        guard let url = parts.url else { throw Failure(.usage, "\(Label(text).text) is not the address of a server") }
        self.url = url
        shortText = host + (parts.port.map { ":\($0)" } ?? "")
    }
}

import Foundation

/// The address of the server.
package struct ServerAddress: Hashable, Sendable {
    package let url: URL
    /// A short form for users, without the parts that are usually the same.
    package let shortText: String

    package static let standard = "ws://127.0.0.1:4040/v1/ws"
    private static let path = "/v1/ws"

    /// - Parameter text: `ws://` or `wss://`, a host, and optionally a port; the usual path is added if there is none.
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

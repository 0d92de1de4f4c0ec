import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Makes connections with URLSession: the transport on Apple platforms.
package struct URLSessionDialler: Dialler {
    private let configuration: URLSessionConfiguration

    /// - Parameter configuration: proxies, headers and similar settings.
    package init(_ configuration: URLSessionConfiguration = .ephemeral) { self.configuration = configuration }

    package func dial(
        _ url: URL, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void
    ) -> any Transport {
        URLSessionTransport(url, subprotocol: subprotocol, configuration: configuration, report: report)
    }
}

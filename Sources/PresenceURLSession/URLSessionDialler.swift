import Foundation
import PresenceTransport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Makes connections with URLSession: the transport on Apple platforms.
package struct URLSessionDialler: Dialler {
    package init() {}

    package func dial(
        _ url: URL, subprotocol: String, report: @escaping @Sendable (TransportEvent) -> Void
    ) -> any Transport {
        URLSessionTransport(url, subprotocol: subprotocol, report: report)
    }
}

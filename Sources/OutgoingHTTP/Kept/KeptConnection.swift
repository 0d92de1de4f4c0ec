import CCurl
import Glibc

/// A connection to a server, for bytes of our own: libcurl has opened it, with all its checks, and does TLS.
///
/// Closed when it is released.
// @unchecked: one thread opens it, and another one uses it afterwards.
final class KeptConnection: @unchecked Sendable {
    enum Received {
        case bytes(Int)
        /// None are there now.
        case later
        /// The server has closed the connection, or it is broken.
        case ended
    }

    private let easy: UnsafeMutableRawPointer
    let socket: Int32

    /// Opens a connection, and blocks until then.
    ///
    /// - Parameter order: Its URL, trust and time limits count; nothing is sent.
    init(to order: TransferOrder) throws(OutgoingFailure) {
        guard let easy = curl_easy_init() else { throw .other(CURLE_OUT_OF_MEMORY.rawValue) }
        var options = CurlOptions(easy)
        options.set(order, left: Int64(max(1, order.limits.connecting * 1_000)), userAgent: nil)
        options.check(ccurl_set_long(easy, CURLOPT_CONNECT_ONLY, 1))
        options.check(ccurl_set_socket_function(easy) { ccurl_socket($2!) })
        defer { for list in options.lists { curl_slist_free_all(list) } }
        let code = options.isTaken ? curl_easy_perform(easy) : CURLE_BAD_FUNCTION_ARGUMENT
        let socket = ccurl_get_socket(easy)
        guard code == CURLE_OK, socket >= 0 else {
            curl_easy_cleanup(easy)
            throw .ofConnection(code) ?? .broken
        }
        (self.easy, self.socket) = (easy, socket)
    }

    deinit { curl_easy_cleanup(easy) }

    /// - Returns: The number of bytes that were taken; `nil` if the connection is broken.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var count = 0
        return switch curl_easy_send(easy, bytes.baseAddress, bytes.count, &count) {
        case CURLE_OK: count
        case CURLE_AGAIN: 0
        default: nil
        }
    }

    /// Acknowledges what has arrived. Many servers send head and body apart, and their systems keep the body until then, for up
    /// to 40 ms (RFC 896, RFC 1122).
    func acknowledge() {
        var isQuick: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_QUICKACK, &isQuick, socklen_t(MemoryLayout<Int32>.size))
    }

    func receive(into room: UnsafeMutableRawBufferPointer) -> Received {
        var count = 0
        return switch curl_easy_recv(easy, room.baseAddress, room.count, &count) {
        case CURLE_OK: count > 0 ? .bytes(count) : .ended
        case CURLE_AGAIN: .later
        default: .ended
        }
    }
}

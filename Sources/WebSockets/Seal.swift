import CLibWebSockets
import EventLoops
import Glibc

/// A connection over TLS before its first request is known.
///
/// libwebsockets decrypts, and normalises the path of a request as it reads it (see `RequestTarget`). So whenever its
/// descriptor can be read, we are called first, and once the handshake is done look at what the next read will give.
/// (In the turn in which it ends the handshake libwebsockets does not go on to read.)
struct Seal {
    let watcher: ReadableWatcher

    // MARK: - Before libwebsockets has it

    enum Glance {
        /// Nothing has come yet.
        case nothing
        /// The peer has hung up.
        case gone
        /// No TLS: as likely as not, HTTP.
        case plain
        /// What a handshake begins with.
        case hello
    }

    static func glance(_ descriptor: Int32) -> Glance {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        if count < 0 { return errno == EAGAIN || errno == EINTR ? .nothing : .gone }
        if count == 0 { return .gone }
        // The content type "handshake" (RFC 8446, 5.1).
        return byte == 22 ? .hello : .plain
    }

    // MARK: - After

    enum Look {
        /// The handshake is under way.
        case shaking
        /// Nothing has come behind it yet, or not a whole record.
        case nothing
        /// The request has begun. Its target is `nil` when its line has not come in one record of TLS.
        case open(target: String?)
        /// The connection is over, as libwebsockets will see.
        case ended
    }

    func look(_ wsi: OpaquePointer) -> Look {
        // Unsafe: the memory is this call's own.
        withUnsafeTemporaryAllocation(byteCount: RequestTarget.longest, alignment: 1) { buffer in
            let count = clws_tls_peek(wsi, buffer.baseAddress, Int32(buffer.count))
            switch Int(count) {
            case clws_tls_unfinished: return .shaking
            case clws_tls_nothing: return .nothing
            case clws_tls_ended: return .ended
            default:
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)])
                return .open(target: RequestTarget.target(bytes))
            }
        }
    }
}

import CTLS

/// TLS to Redis: the trusted authorities, and the client's certificate.
///
/// The files are read once, completely. A server's certificate is always verified: its chain, its dates, and that it is
/// for the expected host.
// @unchecked: the context never changes after it is made, and OpenSSL counts references to it atomically.
public final class RedisTLS: @unchecked Sendable {
    /// The files, all PEM, and the expected name.
    public struct Settings: Sendable, Hashable {
        /// The trusted authorities; `nil`: the system's.
        public var authorities: String?
        /// The client's certificate and its key, for servers that require one: both or none.
        public var certificate: String?
        public var key: String?
        /// The name for which every server's certificate must be; `nil`: the host to which it connects.
        public var serverName: String?

        public init(
            authorities: String? = nil, certificate: String? = nil, key: String? = nil, serverName: String? = nil
        ) {
            self.authorities = authorities
            self.certificate = certificate
            self.key = key
            self.serverName = serverName
        }
    }

    let serverName: String?
    /// Owned; freed in `deinit`. Sessions hold references of their own.
    fileprivate let context: OpaquePointer

    /// - Throws: ``RedisTLSError``, if one of the files cannot be used.
    public init(_ settings: Settings = Settings()) throws(RedisTLSError) {
        var problem = [CChar](repeating: 0, count: 512)
        guard
            let context = ctls_context_make(
                settings.authorities, settings.certificate, settings.key, &problem, problem.count)
        else {
            throw RedisTLSError(description: problem.withUnsafeBytes(String.init(cText:)))
        }
        self.context = context
        serverName = settings.serverName
    }

    deinit { ctls_context_free(context) }
}

extension RedisTLS: Hashable {
    public static func == (left: RedisTLS, right: RedisTLS) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The reason why TLS to Redis cannot be used: a sentence that names the file, without its content.
public struct RedisTLSError: Error, Hashable, CustomStringConvertible {
    public let description: String
}

/// TLS on one socket. The owner of the socket keeps it open while the session is used.
///
/// For one thread at a time.
final class TLSSession {
    enum Outcome: Equatable {
        /// This many bytes were read or written.
        case done(Int)
        /// Repeat the call when the socket can be read, or written; on a blocking socket, its time-out has expired.
        case wantsRead, wantsWrite
        case ended
        case failed(String)
    }

    /// The most that one `read` returns: with room for this many bytes, none are left inside the session.
    static let longestRead = 16 << 10

    /// Owned; freed in `deinit`.
    private let session: OpaquePointer
    private var problem = ctls_problem()

    /// - Parameter host: The host that was dialled, if no other name is expected.
    /// - Returns: `nil` without memory, or if the name is invalid.
    init?(_ tls: RedisTLS, host: String, on socket: CInt) {
        guard let session = ctls_session_make(tls.context, socket, tls.serverName ?? host) else { return nil }
        self.session = session
    }

    deinit { ctls_session_free(session) }

    /// Redis without TLS does not answer to the beginning of a handshake: it waits for the end of a line.
    static func lateness(_ milliseconds: Int64) -> String {
        "no answer to the TLS handshake within \(milliseconds) ms: the server may not use TLS on this port"
    }

    func handshake() -> Outcome { outcome(ctls_handshake(session, &problem), 0) }

    func read(into bytes: UnsafeMutableRawBufferPointer) -> Outcome {
        var count = 0
        let result = ctls_read(session, bytes.baseAddress, bytes.count, &count, &problem)
        return outcome(result, count)
    }

    /// After `wantsRead` or `wantsWrite`, the next call must begin with the same bytes; further bytes may follow them.
    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        var count = 0
        let result = ctls_write(session, bytes.baseAddress, bytes.count, &count, &problem)
        return outcome(result, count)
    }

    private func outcome(_ result: ctls_outcome, _ count: Int) -> Outcome {
        switch result {
        case ctls_done: .done(count)
        case ctls_wants_read: .wantsRead
        case ctls_wants_write: .wantsWrite
        case ctls_ended: .ended
        default: .failed(withUnsafeBytes(of: problem.text, String.init(cText:)))
        }
    }
}

import CSigning

/// For identifying only, in the handshake of WebSockets (RFC 6455, section 4), for Redis' scripts and for versions of
/// files. SHA-1 protects nothing any more.
public enum SHA1 {
    /// 20 bytes.
    public static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        precondition(csigning_sha1(bytes, bytes.count, &digest), "OpenSSL has no SHA-1")
        return digest
    }
}

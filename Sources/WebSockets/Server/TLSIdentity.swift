import CLibWebSockets
import Glibc

/// A server's certificate with its chain and its private key, for TLS.
///
/// The files are read once, completely; files that do not match are rejected. All shards share one identity. A
/// connection keeps the identity that it began with, even if the files change.
// @unchecked: the SSL_CTX never changes after it is made, and OpenSSL counts references to it atomically.
public final class TLSIdentity: @unchecked Sendable {
    /// Owned; freed in `deinit`. Connections hold references of their own.
    let context: OpaquePointer

    /// When the certificate expires, in seconds since 1970.
    public let expiry: Int64

    /// Whether other users of this machine may read the key's file.
    public let isKeyExposed: Bool

    /// - Parameters:
    ///   - certificateFile: PEM, the server's own certificate first, then the ones between it and an authority.
    ///   - keyFile: PEM, without a passphrase.
    /// - Throws: ``TLSIdentityError``.
    public init(certificateFile: String, keyFile: String) throws(TLSIdentityError) {
        var problem = [CChar](repeating: 0, count: 512)
        guard let context = clws_identity_load(certificateFile, keyFile, &problem, problem.count) else {
            let text = problem.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            throw TLSIdentityError(description: String(decoding: text, as: UTF8.self))
        }
        self.context = context
        expiry = clws_identity_expiry(context)
        var status = stat()
        isKeyExposed = stat(keyFile, &status) == 0 && status.st_mode & (S_IROTH | S_IWOTH) != 0
    }

    deinit { clws_tls_free(context) }
}

/// The reason why a certificate and a key cannot be used: a sentence that names the file, without its content.
public struct TLSIdentityError: Error, CustomStringConvertible {
    public let description: String
}

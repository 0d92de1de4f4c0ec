import Foundation
public import Installation

extension DataDirectory {
    /// The path of the secret's file.
    public var secretFile: String { file("secret") }

    /// The installation's secret, made at the first call.
    ///
    /// The first caller creates it. If several call concurrently, one wins, and all return the same secret. The file
    /// appears complete and with mode 0600.
    ///
    /// - Throws: ``StartFailure`` if the file cannot be written or read, or is too short.
    public func secret() throws(StartFailure) -> TokenSecret {
        if !hasSecret { try createSecret() }
        let data = try PlainFile.read(secretFile)
        guard let text = String(validating: data, as: UTF8.self), let secret = TokenSecret(text) else {
            let needed = "at least \(TokenSecret.shortest) bytes of text without control characters"
            throw StartFailure("\(secretFile) holds no secret: \(needed) are needed")
        }
        return secret
    }

    /// Whether a secret has been made already.
    public var hasSecret: Bool { access(secretFile, F_OK) == 0 }

    /// Whether other users of this machine can read the secret, and so make tokens for any user, or can replace it.
    public var isSecretExposed: Bool { PlainFile.isExposed(secretFile) }

    /// Writes a new secret to a temporary file and links it into place, which fails if another process was first.
    private func createSecret() throws(StartFailure) {
        let draft = file("secret.\(getpid()).\(UInt32.random(in: .min ... .max))")
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StartFailure("the secret cannot be written to \(path): \(String(cString: strerror(errno)))")
        }
        defer { unlink(draft) }
        let text = Array((TokenSecret().text + "\n").utf8)
        let isWritten = write(descriptor, text, text.count) == text.count && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten, link(draft, secretFile) == 0 || errno == EEXIST else {
            throw StartFailure("the secret cannot be written to \(path): \(String(cString: strerror(errno)))")
        }
    }
}

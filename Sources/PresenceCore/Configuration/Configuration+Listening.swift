import Foundation
import Installation
import WebSockets

/// Checks outside of the configuration itself, before a server can listen: names, and files.
extension ServerConfiguration {
    /// Checks who may connect and how.
    ///
    /// - Throws: ``InvalidConfiguration`` for plain connections from other machines that are not explicitly allowed, or
    ///   for an unusable certificate.
    public func validateListening() throws(InvalidConfiguration) {
        if let mistake = tls.mistake() { throw mistake }
        guard !allowPlain, !tls.isOn else { return }
        guard isLoopback(host) else {
            throw InvalidConfiguration(key: "host", reason: Self.plainRefused(host))
        }
        if api.port != nil, !isLoopback(api.host) {
            throw InvalidConfiguration(key: "api.host", reason: Self.plainRefused(api.host))
        }
    }

    /// Whether the address can be reached from this machine only. A name that cannot be resolved is reported when
    /// listening on it.
    func isLoopback(_ host: String) -> Bool {
        (try? ListeningPort.isLoopback(host)) ?? true
    }

    /// Whether the second port uses TLS: with a certificate, if other machines can reach it.
    package var isAPISecure: Bool { tls.isOn && !isLoopback(api.host) }

    private static func plainRefused(_ host: String) -> String {
        "is \(host), which other machines can reach, but without TLS everything is sent in the clear: set "
            + "tls.certificateFile and tls.keyFile, or, behind a proxy that speaks TLS, allowPlain: true"
    }
}

extension ServerConfiguration.TLS {
    /// Whether a certificate is configured.
    public var isOn: Bool { certificateFile != nil || keyFile != nil }

    /// Reads the current files; `nil` if there is no TLS.
    ///
    /// - Throws: ``InvalidConfiguration`` if they are unusable.
    package func identity() throws(InvalidConfiguration) -> TLSIdentity? {
        guard isOn else { return nil }
        guard let certificateFile, let keyFile else {
            let missing = keyFile == nil ? "tls.keyFile" : "tls.certificateFile"
            throw InvalidConfiguration(key: missing, reason: "is missing: TLS needs a certificate and its key")
        }
        for (key, file) in [("tls.certificateFile", certificateFile), ("tls.keyFile", keyFile)] {
            // OpenSSL would block on a pipe, possibly forever.
            do throws(StartFailure) { _ = try PlainFile.read(file) } catch {
                throw InvalidConfiguration(key: key, reason: error.message)
            }
        }
        do throws(TLSIdentityError) {
            return try TLSIdentity(certificateFile: certificateFile, keyFile: keyFile)
        } catch {
            throw InvalidConfiguration(key: "tls.certificateFile", reason: error.description)
        }
    }

    fileprivate func mistake() -> InvalidConfiguration? {
        do throws(InvalidConfiguration) {
            _ = try identity()
            return nil
        } catch {
            return error
        }
    }
}

extension ServerConfiguration {
    /// The data directory: the configured one, or the standard one.
    package var dataPath: String { dataDirectory ?? DataDirectory.standardPath() }
}

extension ServerConfiguration {
    /// The server's address for URLs, as far as it knows: the one on which it listens, without a slash at the end.
    /// Shards have the actual port, also if any free one was configured.
    package var ownURL: String {
        let name =
            ["0.0.0.0", "::"].contains(host) ? "localhost" : host.contains(":") ? "[\(host)]" : host
        return (tls.isOn ? "https" : "http") + "://" + name + ":" + String(port)
    }
}

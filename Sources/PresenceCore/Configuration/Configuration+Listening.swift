import Foundation
import Installation
import WebSockets

/// What has to be looked at outside of the configuration itself before a server can listen: names, and files.
extension ServerConfiguration {
    /// Says what is wrong with who may connect and how, or returns.
    ///
    /// - Throws: ``InvalidConfiguration``: plain connections from elsewhere that nobody asked for, or a certificate that
    ///   cannot be used.
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

    /// Whether only this machine can reach that address. A name that cannot be resolved is told of when it is listened on.
    func isLoopback(_ host: String) -> Bool {
        (try? ListeningPort.isLoopback(host)) ?? true
    }

    /// The second port speaks TLS where others than this machine can reach it, if there is a certificate.
    package var isAPISecure: Bool { tls.isOn && !isLoopback(api.host) }

    private static func plainRefused(_ host: String) -> String {
        "is \(host), which other machines can reach, but without TLS everything is sent in the clear: set "
            + "tls.certificateFile and tls.keyFile, or, behind a proxy that speaks TLS, allowPlain: true"
    }
}

extension ServerConfiguration.TLS {
    /// Whether a certificate is configured.
    public var isOn: Bool { certificateFile != nil || keyFile != nil }

    /// Reads the files, as they are now; `nil` if there is no TLS.
    ///
    /// - Throws: ``InvalidConfiguration``, with what is wrong with them.
    package func identity() throws(InvalidConfiguration) -> TLSIdentity? {
        guard isOn else { return nil }
        guard let certificateFile, let keyFile else {
            let missing = keyFile == nil ? "tls.keyFile" : "tls.certificateFile"
            throw InvalidConfiguration(key: missing, reason: "is missing: TLS needs a certificate and its key")
        }
        for (key, file) in [("tls.certificateFile", certificateFile), ("tls.keyFile", keyFile)] {
            // OpenSSL would wait for a pipe, perhaps for ever.
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
    /// The data directory: the one that is set, or the standard one.
    package var dataPath: String { dataDirectory ?? DataDirectory.standardPath() }
}

extension ServerConfiguration {
    /// Where the server is reached, for addresses that it tells, as far as it knows: what it listens on, without a slash at the
    /// end. Shards have the port that was taken, where any was asked for.
    package var publicAddress: String {
        let name =
            ["0.0.0.0", "::"].contains(host) ? "localhost" : host.contains(":") ? "[\(host)]" : host
        return (tls.isOn ? "https" : "http") + "://" + name + ":" + String(port)
    }
}

import Installation
import Redis

/// Checks of the connection to Redis before it is made.
extension ServerConfiguration.Redis {
    /// The Redis at a URL: the configured one, or the server's own. For TLS, the certificate files are read now.
    ///
    /// - Throws: ``InvalidConfiguration``, which does not contain a password.
    package func location(_ url: String) throws(InvalidConfiguration) -> RedisLocation {
        var location = try parse(url)
        guard location.isSecure else { return location }
        do throws(RedisTLSError) {
            location.secure(
                by: try RedisTLS(
                    .init(
                        authorities: tls.caFile, certificate: tls.certificateFile, key: tls.keyFile,
                        serverName: tls.serverName)))
        } catch {
            throw InvalidConfiguration(key: "redis.tls", reason: error.description)
        }
        return location
    }

    /// Checks the address, the prefix and related settings.
    func validate() throws(InvalidConfiguration) {
        guard KeySpace.isPrefix(prefix) else {
            throw InvalidConfiguration(
                key: "redis.prefix",
                reason: "is \"\(prefix)\", but must be at most \(KeySpace.longestPrefix) letters, digits, "
                    + "hyphens, underscores and dots (the colon after it is added)")
        }
        let isSecure = try url.map { url throws(InvalidConfiguration) in try parse(url).isSecure } ?? false
        let settings = [
            ("caFile", tls.caFile), ("certificateFile", tls.certificateFile), ("keyFile", tls.keyFile),
            ("serverName", tls.serverName),
        ]
        if interests, let url, case .cluster = try parse(url) {
            throw InvalidConfiguration(
                key: "redis.interests",
                reason: "is true, but redis.url names a cluster, whose nodes pass every message on to each other: "
                    + "it must be false")
        }
        // A setting for TLS without TLS is a mistake: the connections would be plain.
        if !isSecure, let (name, _) = settings.first(where: { $0.1 != nil }) {
            throw InvalidConfiguration(
                key: "redis.tls.\(name)", reason: "is set, but redis.url does not begin with rediss")
        }
        guard (tls.certificateFile == nil) == (tls.keyFile == nil) else {
            let missing = tls.keyFile == nil ? "redis.tls.keyFile" : "redis.tls.certificateFile"
            throw InvalidConfiguration(key: missing, reason: "is missing: a certificate and its key belong together")
        }
    }

    private func parse(_ url: String) throws(InvalidConfiguration) -> RedisLocation {
        do throws(RedisEndpointError) {
            return try RedisLocation(url: url)
        } catch {
            // The address itself is omitted, since it may contain a password.
            throw InvalidConfiguration(key: "redis.url", reason: error.message)
        }
    }
}

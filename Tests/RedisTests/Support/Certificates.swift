import Foundation
import TestSupport

@testable import Redis

/// Authorities, and certificates that they have issued, made by `openssl` in a directory that is removed with this
/// object.
// @unchecked: immutable after it is made.
final class Certificates: @unchecked Sendable {
    private let place: TemporaryDirectory

    /// `authority` is trusted, and has issued `server` (localhost, 127.0.0.1), `named` (redis.test), `expired` and
    /// `client`; `other` is an authority that has issued nothing.
    init() throws {
        place = try TemporaryDirectory()
        let script = """
            set -e; exec 2>/dev/null; cd "$0"
            key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out $1.key; }
            for name in authority other; do
                key $name; openssl req -x509 -key $name.key -days 2 -subj /CN=$name -out $name.pem
            done
            issue() {
                key $1; openssl req -new -key $1.key -subj /CN=$1 -addext "subjectAltName=$2" -out $1.csr
                openssl x509 -req -in $1.csr -CA authority.pem -CAkey authority.key -CAcreateserial \
                    -copy_extensions copy -days $3 -out $1.pem
            }
            issue server DNS:localhost,IP:127.0.0.1 2
            issue named DNS:redis.test 2
            issue expired DNS:localhost,IP:127.0.0.1 -1
            issue client DNS:client 2
            """
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script, place.path]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
    }

    func file(_ name: String) -> String { place.file(name) }

    /// The arguments of a server that presents a certificate on a port.
    func arguments(_ name: String = "server", port: UInt16, asksClients: Bool = false) -> [String] {
        [
            "--tls-port", "\(port)", "--tls-cert-file", file("\(name).pem"), "--tls-key-file", file("\(name).key"),
            "--tls-ca-cert-file", file("authority.pem"), "--tls-auth-clients", asksClients ? "yes" : "no",
        ]
    }

    /// A client's trust, and its certificate.
    func tls(
        trusting authority: String? = "authority", showing client: String? = nil, expecting name: String? = nil
    ) throws -> RedisTLS {
        try RedisTLS(
            .init(
                authorities: authority.map { file("\($0).pem") }, certificate: client.map { file("\($0).pem") },
                key: client.map { file("\($0).key") }, serverName: name))
    }
}

extension RedisEndpoint {
    static func secure(_ port: UInt16, _ tls: RedisTLS?, host: String = "127.0.0.1") -> RedisEndpoint {
        var endpoint = RedisEndpoint(.tcp(host: host, port: port))
        endpoint.isSecure = true
        endpoint.tls = tls
        return endpoint
    }
}

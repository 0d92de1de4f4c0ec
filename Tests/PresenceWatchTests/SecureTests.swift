import Expectations
import Foundation
import TestSupport
import Testing

/// The library over TLS, as the command uses it, with a server that has a certificate for the test.
@Suite(.timeLimit(.minutes(2)))
struct SecureTests {
    @Test func `a server's certificate is verified: its authority and its name`() async throws {
        let place = try TemporaryDirectory()
        let script = """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test \
                -addext subjectAltName=DNS:localhost -keyout "$0/key.pem" -out "$0/certificate.pem" 2>/dev/null
            """
        try await expect(Programs.run(["sh", "-c", script, place.path]).status, equals: 0)
        let authority = place.file("certificate.pem")
        let server = try await Server(settings: [
            "PRESENCE_TLS_CERTIFICATE_FILE": authority, "PRESENCE_TLS_KEY_FILE": place.file("key.pem"),
        ])
        let token = try await server.token("viewer")

        func watch(_ host: String, trusting file: String?) async throws -> Programs.Result {
            var environment = ["PRESENCE_URL": "wss://\(host):\(server.port)/v1/ws", "PRESENCE_TOKEN": token]
            environment["SSL_CERT_FILE"] = file
            return try await Programs.run([Programs.watch, "--once", "ana"], environment: environment)
        }
        let trusting = try await watch("localhost", trusting: authority)
        expect(trusting.status == 0 && trusting.output.count == 1, "\(trusting)")
        let doubting = try await watch("localhost", trusting: nil)
        expect(doubting.status == 69 && doubting.output.isEmpty, "\(doubting)")
        let elsewhere = try await watch("127.0.0.1", trusting: authority)
        expect(elsewhere.status == 69 && elsewhere.output.isEmpty, "\(elsewhere)")
    }
}

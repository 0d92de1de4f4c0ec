import Foundation

@testable import WebSockets

/// A certificate and its key, made for one test by `openssl`, in a directory that is removed with this object.
final class TestCertificate {
    private let directory: URL
    var certificateFile: String { directory.path + "/certificate.pem" }
    var keyFile: String { directory.path + "/key.pem" }

    /// - Parameters:
    ///   - names: its names, as `subjectAltName`.
    ///   - days: its validity from now on; a negative number for an expired one.
    init(names: String = "DNS:localhost,IP:127.0.0.1", days: Int = 2) async throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("certificate-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        // It signs itself, so it is its own authority.
        let script = """
            exec 2>/dev/null; cd "$0"
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test \
                -addext "subjectAltName=$1" -keyout key.pem -out request.pem
            openssl x509 -req -in request.pem -key key.pem -copy_extensions copy -days "$2" -out certificate.pem
            openssl pkey -in key.pem -aes128 -passout pass:secret -out locked.pem
            """
        _ = try await Command.run("sh", "-c", script, directory.path, names, "\(days)")
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    var identity: TLSIdentity { get throws { try TLSIdentity(certificateFile: certificateFile, keyFile: keyFile) } }

    func file(_ name: String) -> String { directory.path + "/" + name }
}

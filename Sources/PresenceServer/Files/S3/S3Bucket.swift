import Foundation
import Installation
import PresenceCore
import PresenceProtocol

/// The configured bucket of S3-compatible storage. It is addressed by path (`ENDPOINT/BUCKET/KEY`), which all such storage
/// supports.
struct S3Bucket: Sendable {
    /// `https://HOST[:PORT]`, without the scheme's default port.
    let endpoint: String
    /// The endpoint's host in the form of the header `Host`.
    let host: String
    let name: String
    /// The beginning of all keys.
    let prefix: String
    /// The address to which browsers are redirected, without a trailing slash. If it is empty, this server fetches the files
    /// for browsers.
    let publicURL: String
    let signer: S3Signer

    /// - Parameters:
    ///   - folder: Appended to the configured prefix.
    ///   - isPublic: Whether browsers may be redirected to the bucket.
    /// - Throws: The first invalid setting, with a reason that contains nothing of the key.
    /// - Returns: `nil` if no bucket is configured.
    static func configured(
        _ configuration: ServerConfiguration, folder: String = "", isPublic: Bool = true
    ) throws(InvalidConfiguration) -> S3Bucket? {
        let name = configuration[S3Bucket.bucket]
        guard !name.isEmpty else {
            for setting in settings where configuration[setting] != setting.standard {
                throw .of(S3Bucket.bucket, "must be set as well, since \(setting.key) is")
            }
            return nil
        }
        return try S3Bucket(name, configuration, folder, isPublic)
    }

    private init(
        _ name: String, _ configuration: ServerConfiguration, _ folder: String, _ isPublic: Bool
    ) throws(InvalidConfiguration) {
        guard (3...63).contains(name.utf8.count), name.utf8.allSatisfy(Self.isOfName), !name.contains(".."),
            let first = name.utf8.first, let last = name.utf8.last, ![first, last].contains(where: ".-".utf8.contains)
        else { throw .of(S3Bucket.bucket, "must be 3 to 63 lower-case letters, digits, hyphens and single dots") }
        self.name = name
        (endpoint, host) = try Self.endpoint(configuration[S3Bucket.endpoint])
        let prefix = configuration[S3Bucket.prefix]
        let segments = prefix.split(separator: "/", omittingEmptySubsequences: false)
        guard prefix.utf8.count <= 512, prefix.utf8.allSatisfy(Self.isOfPrefix), !prefix.hasPrefix("/"),
            !segments.dropLast().contains(where: { ["", ".", ".."].contains($0) })
        else {
            throw .of(S3Bucket.prefix, "must be letters, digits, and -._ with single slashes between, as in pictures/")
        }
        self.prefix = prefix + folder
        let publicURL = String(configuration[S3Bucket.publicURL].reversed().drop { $0 == "/" }.reversed())
        let isPlain = !publicURL.utf8.contains(where: "?#".utf8.contains)
        guard publicURL.isEmpty || PhotoURL.isValid(publicURL + "/x") && isPlain else {
            throw .of(S3Bucket.publicURL, "must be an https URL, http for loopback only, without query and fragment")
        }
        self.publicURL = isPublic ? publicURL : ""
        signer = try S3Signer(configuration)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x7A, 0x2D, 0x2E: true
        default: false
        }
    }

    private static func isOfPrefix(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-._/".utf8.contains(byte)
        }
    }

    private static func endpoint(_ text: String) throws(InvalidConfiguration) -> (url: String, host: String) {
        let isPlain = text.utf8.count <= 512 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPlain, let url = URLComponents(string: text), let scheme = url.scheme,
            ["http", "https"].contains(scheme),
            let host = url.host, !host.isEmpty, url.user == nil, url.password == nil, url.query == nil,
            url.fragment == nil, ["", "/"].contains(url.path)
        else { throw .of(S3Bucket.endpoint, "must be https://HOST[:PORT] or http://HOST[:PORT], without a path") }
        // The host in the signature must be the one that libcurl sends.
        let isUsual = url.port == nil || url.port == (scheme == "https" ? 443 : 80)
        let authority = host.lowercased() + (isUsual ? "" : ":\(url.port ?? 0)")
        return ("\(scheme)://\(authority)", authority)
    }

    // MARK: Names

    func key(of file: StoredFile) -> String { prefix + file.text }

    /// The file that a key names; `nil` for other keys.
    func file(of key: some StringProtocol) -> StoredFile? {
        key.hasPrefix(prefix) ? StoredFile(String(key.dropFirst(prefix.count))) : nil
    }

    func path(of file: StoredFile) -> String { "/\(name)/\(key(of: file))" }

    /// The path of the installation mark.
    var markPath: String { "/\(name)/\(prefix)\(FileSweep.markName)" }

    /// The file's public address; `nil` if only this server serves it.
    func publicURL(of file: StoredFile) -> String? { publicURL.isEmpty ? nil : "\(publicURL)/\(file.text)" }
}

extension InvalidConfiguration {
    static func of(_ setting: any AnySetting, _ reason: String) -> InvalidConfiguration {
        InvalidConfiguration(key: setting.key, reason: reason)
    }
}

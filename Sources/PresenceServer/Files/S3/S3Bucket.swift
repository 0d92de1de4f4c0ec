import Foundation
import Installation
import PresenceCore
import PresenceProtocol

/// A bucket of S3-compatible storage, as the configuration has it. It is addressed by its path (`ENDPOINT/BUCKET/KEY`), which
/// all such storage understands.
struct S3Bucket: Sendable {
    /// `https://HOST[:PORT]`, without the port that the scheme has anyway.
    let endpoint: String
    /// Of the endpoint, as the header `Host` has it.
    let host: String
    let name: String
    /// What all keys begin with.
    let prefix: String
    /// What browsers are sent to, without a slash at the end; empty: this server fetches files for them.
    let publicURL: String
    let signer: S3Signer

    /// - Parameters:
    ///   - folder: What stands behind the configured prefix.
    ///   - isPublic: Whether browsers may be sent to the bucket.
    /// - Throws: what is wrong with the first setting that cannot be, in words without anything of the key.
    /// - Returns: `nil` if files are in a folder.
    static func configured(
        _ configuration: ServerConfiguration, folder: String = "", isPublic: Bool = true
    ) throws(InvalidConfiguration) -> S3Bucket? {
        let name = configuration[S3Bucket.bucket]
        guard !name.isEmpty else {
            for setting in settings where configuration[setting] != setting.standard {
                throw .of(S3Bucket.bucket, "must be told as well, since \(setting.key) is")
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
        else { throw .of(S3Bucket.bucket, "must be 3 to 63 small letters, digits, hyphens and single dots") }
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
        // What the signature has and what libcurl sends must be the same.
        let isUsual = url.port == nil || url.port == (scheme == "https" ? 443 : 80)
        let authority = host.lowercased() + (isUsual ? "" : ":\(url.port ?? 0)")
        return ("\(scheme)://\(authority)", authority)
    }

    // MARK: Names

    func key(of file: StoredFile) -> String { prefix + file.text }

    /// The file that a key names; `nil` for what is none of ours.
    func file(of key: some StringProtocol) -> StoredFile? {
        key.hasPrefix(prefix) ? StoredFile(String(key.dropFirst(prefix.count))) : nil
    }

    func path(of file: StoredFile) -> String { "/\(name)/\(key(of: file))" }

    /// That of the mark which says whose files these are.
    var markPath: String { "/\(name)/\(prefix)\(FileSweep.markName)" }

    /// Where everybody gets it; `nil` if only here.
    func publicAddress(of file: StoredFile) -> String? { publicURL.isEmpty ? nil : "\(publicURL)/\(file.text)" }
}

extension InvalidConfiguration {
    static func of(_ setting: any AnySetting, _ reason: String) -> InvalidConfiguration {
        InvalidConfiguration(key: setting.key, reason: reason)
    }
}

import Foundation
import Installation
import PresenceCore
import Tokens

/// A setup that works but is weaker than its operator may realise: logged at the start, and reported by `presenced doctor`.
public struct StartWarning: Sendable, Equatable {
    public let text: String
    /// The file or folder concerned.
    public var file: String?

    public init(text: String, file: String? = nil) {
        self.text = text
        self.file = file
    }
}

extension ServerConfiguration {
    /// All warnings for the operator. Files are read and not changed.
    ///
    /// - Parameter file: The configuration file, if there is one.
    public func startWarnings(file: String?) -> [StartWarning] {
        warningsOfFiles(file) + warningsOfTokens
            + enabled(Features.all).flatMap { $0.plan.warnings(self) }.map {
                StartWarning(text: $0)
            }
    }

    private var warningsOfTokens: [StartWarning] {
        guard auth.jwksFile != nil, auth.issuer == nil, auth.audience == nil else { return [] }
        let text =
            "auth.jwksFile without auth.issuer and auth.audience: the server also accepts tokens that these keys sign "
            + "for other applications, with all rights if their role is backend: set both"
        return [StartWarning(text: text)]
    }

    private func warningsOfFiles(_ file: String?) -> [StartWarning] {
        var warnings: [StartWarning] = []
        if let file, PlainFile.isExposed(file), hasPassword(in: file) {
            warnings.append(
                StartWarning(text: "other users can read the configuration, which has passwords", file: file))
        }
        if let key = tls.keyFile, PlainFile.isExposed(key) {
            warnings.append(StartWarning(text: "other users can read the certificate's key", file: key))
        }
        guard FileManager.default.fileExists(atPath: dataPath), let directory = try? DataDirectory(dataPath) else {
            return warnings
        }
        if directory.isSecretExposed {
            warnings.append(StartWarning(text: "other users can read the secret", file: directory.secretFile))
        }
        if directory.isExposed {
            let text = "other users can enter the data directory, and read the files whose mode permits it: chmod 700"
            warnings.append(StartWarning(text: text, file: directory.path))
        }
        return warnings
    }

    /// Whether the file itself contains one of the passwords; they may also come from the environment or the command line.
    private func hasPassword(in file: String) -> Bool {
        let passwords = [redis.url ?? "", self[Accounts.mailURL]].compactMap(Self.password)
        guard !passwords.isEmpty, let data = try? PlainFile.read(file) else { return false }
        return passwords.contains { data.range(of: Data($0.utf8)) != nil }
    }

    /// The password of a URL, in its encoded form.
    private static func password(of url: String) -> String? {
        guard let start = url.range(of: "://")?.upperBound else { return nil }
        let authority = url[start...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") else {
            return nil
        }
        let password = authority[authority.index(after: colon)..<at]
        return password.isEmpty ? nil : String(password)
    }
}

import Foundation
import Installation
import PresenceCore
import Tokens

/// What works, and is weaker than its operator may know: logged when a server starts, and said by `presenced doctor`.
public struct StartWarning: Sendable, Equatable {
    public let text: String
    /// The file or folder that it is about.
    public var file: String?

    public init(text: String, file: String? = nil) {
        self.text = text
        self.file = file
    }
}

extension ServerConfiguration {
    /// Everything that an operator is warned of. It looks at files, and changes none.
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
            "auth.jwksFile without auth.issuer and auth.audience: whatever these keys sign for other applications is good here "
            + "too, and with the claim role: backend it may do everything: set both"
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
            let text = "other users can enter the data directory, and read what its files let them: chmod 700"
            warnings.append(StartWarning(text: text, file: directory.path))
        }
        return warnings
    }

    /// Whether a password of ours stands in the file, and not only in the environment or on the command line.
    private func hasPassword(in file: String) -> Bool {
        let passwords = [redis.url ?? "", self[Accounts.mailURL]].compactMap(Self.password)
        guard !passwords.isEmpty, let data = try? PlainFile.read(file) else { return false }
        return passwords.contains { data.range(of: Data($0.utf8)) != nil }
    }

    /// As it stands in a URL.
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

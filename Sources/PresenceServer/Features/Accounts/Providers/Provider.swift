import Foundation
import Installation
import PresenceCore
import PresenceProtocol
import Tokens

/// A provider with whose identities users sign in, as the configuration has it.
struct Provider: Sendable {
    enum Kind: String, CaseIterable { case apple, google, oidc }

    /// A word of paths, of a file's name, and of accounts' records.
    let name: String
    let kind: Kind
    /// The apps for which the provider may make tokens. The first one is that of browsers.
    let clientIDs: [String]
    let issuer: String
    /// `nil`: browsers cannot sign in with it.
    let credential: Credential?
    let scopes: [String]
    /// The text of its button.
    let button: String

    /// The server's own secret at the provider, to trade a code for a token.
    enum Credential: Sendable {
        case secret(String)
        /// Apple: each secret is signed.
        case key(ServiceSigner, team: String, id: String)
    }

    /// More would be a list of customers, which does not belong into a configuration.
    static let most = 16

    /// As `GET /v1/server` names it.
    var json: String {
        #"{"name":"\#(name)","kind":"\#(kind.rawValue)","button":\#(JSONWriter.encoded(button)),"browser":\#(credential != nil)}"#
    }

    /// The rules for its tokens.
    func rules(issuer: String, nonces: [String]?) -> IdentityRules {
        IdentityRules(
            issuer: issuer, mayLackScheme: kind == .google, clientIDs: clientIDs, nonces: nonces)
    }

    /// - Throws: the reason why the first is invalid.
    static func all(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> [Provider] {
        var providers: [Provider] = []
        for row in configuration[Accounts.providers] {
            let provider = try Provider(Row(row))
            guard !providers.contains(where: { $0.name == provider.name }) else {
                throw invalid("\(provider.name) is there twice")
            }
            providers.append(provider)
        }
        guard providers.count <= most else { throw invalid("has more than \(most) providers") }
        return providers
    }

    private init(_ row: Row) throws(InvalidConfiguration) {
        let name = row["name"] ?? ""
        // The path of that name is another's.
        guard Self.isName(name), name != "mail" else {
            throw Self.invalid("has a bad name: it must be 1 to 32 characters of a to z, 0 to 9 and -, and not mail")
        }
        guard let kind = row["kind"].flatMap(Kind.init) else {
            throw Self.invalid("\(name): kind must be one of \(Kind.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        let standard = [Kind.apple: "https://appleid.apple.com", .google: "https://accounts.google.com"][kind]
        guard let issuer = row["issuer"] ?? standard else { throw Self.invalid("\(name): needs an issuer") }
        guard WebhookEndpoint.isAllowed(issuer), !issuer.contains("?") else {
            throw Self.invalid(
                "\(name): issuer must be https://…, or http://… to this machine, without user, password or query")
        }
        let ids = row.all("clientIds")
        guard !ids.isEmpty, ids.allSatisfy({ $0.utf8.allSatisfy { (0x21...0x7E).contains($0) } }) else {
            throw Self.invalid("\(name): clientIds must name at least one app")
        }
        (self.name, self.kind, self.issuer, clientIDs) = (name, kind, issuer, ids)
        credential = try Self.credential(row, kind)
        let scopes = row.all("scopes")
        self.scopes = scopes.isEmpty ? (kind == .apple ? ["name", "email"] : ["openid", "email", "profile"]) : scopes
        guard kind == .apple || self.scopes.contains("openid") else {
            throw Self.invalid("\(name): scopes must have openid")
        }
        let brand = [Kind.apple: "Apple", .google: "Google"][kind] ?? name
        button = row["button"] ?? "Sign in with \(brand)"
        guard button.utf8.count <= 100 else { throw Self.invalid("\(name): button must be at most 100 bytes") }
    }

    private static func isName(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
    }

    private static func credential(_ row: Row, _ kind: Kind) throws(InvalidConfiguration) -> Credential? {
        let name = row["name"] ?? ""
        if let file = row["keyFile"] {
            guard kind == .apple, row["clientSecretFile"] == nil else {
                throw invalid("\(name): keyFile is for the kind apple, without clientSecretFile")
            }
            guard let team = row["teamId"], let id = row["keyId"] else {
                throw invalid("\(name): keyFile needs teamId and keyId")
            }
            do throws(StartFailure) {
                return .key(try ServiceSigner(.es256, pem: try secret(file)), team: team, id: id)
            } catch {
                throw invalid("\(name): keyFile \(error)")
            }
        }
        guard let file = row["clientSecretFile"] else { return nil }
        do throws(StartFailure) {
            let text = try secret(file).trimmingCharacters(in: .whitespacesAndNewlines)
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw StartFailure("\(file) must have one secret of ASCII characters without spaces")
            }
            return .secret(text)
        } catch {
            throw invalid("\(name): clientSecretFile \(error)")
        }
    }

    private static func secret(_ file: String) throws(StartFailure) -> String {
        let text = String(decoding: try PlainFile.read(file), as: UTF8.self)
        guard !PlainFile.isExposed(file) else {
            throw StartFailure("\(file) can be read by every user of this machine: chmod 600 is needed")
        }
        return text
    }

    private static func invalid(_ reason: String) -> InvalidConfiguration {
        InvalidConfiguration(key: Accounts.providers.key, reason: reason)
    }

    /// The words of an entry: `NAME=VALUE`.
    private struct Row {
        private let words: [(name: Substring, value: String)]
        private static let names = Accounts.providers.columns.map { $0.filter { $0.isLetter } }

        init(_ text: String) throws(InvalidConfiguration) {
            var words: [(Substring, String)] = []
            for word in text.split(separator: " ") {
                let parts = word.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let value = String(parts[1]).removingPercentEncoding,
                    Self.names.contains(String(parts[0]))
                else { throw Provider.invalid("has an entry that is not NAME=VALUE …") }
                words.append((parts[0], value))
            }
            self.words = words
        }

        subscript(name: String) -> String? { words.first { $0.name == name }?.value }

        func all(_ name: String) -> [String] { words.filter { $0.name == name }.map(\.value) }
    }
}

extension Accounts {
    static let providers = Setting<[String]>(
        "accounts.providers", [],
        columns: [
            "name", "kind", "clientIds[]", "issuer?", "clientSecretFile?", "keyFile?", "teamId?", "keyId?", "scopes[]?",
            "button?",
        ],
        about:
            "Where users may sign in, by OpenID Connect: name (a word of paths), kind (apple, google or oidc), clientIds "
            + "(your apps there) and issuer (its address, for oidc); button if another text than usual. For browsers "
            + "clientSecretFile, or for Apple keyFile, teamId and keyId; the first of clientIds is theirs.")
    static let returnURLs = Setting<[String]>(
        "accounts.returnURLs", [],
        about:
            "Addresses outside this server to which browsers may return from a provider's page: whole URLs, compared "
            + "to the letter.")
}

/// A provider's documents in the data directory, so that a restart does not ask for them. Its functions block: they are for threads
/// of a pool.
struct ProviderFile: Sendable {
    let directory: String
    let provider: Provider

    /// The texts in the file; `nil` if there are none.
    func read() -> ProviderDocuments.Texts? {
        guard let path = try? path(), let data = try? PlainFile.read(path) else { return nil }
        return try? JSONDecoder().decode(ProviderDocuments.Texts.self, from: data)
    }

    /// - Throws: ``StartFailure`` if the file cannot be written.
    func store(_ texts: ProviderDocuments.Texts) throws(StartFailure) {
        let path = try path()
        do {
            try JSONEncoder().encode(texts).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw StartFailure("\(path) cannot be written")
        }
    }

    private func path() throws(StartFailure) -> String {
        try DataDirectory(directory).file("provider-\(provider.name).json")
    }
}

import Foundation
import Installation
import Signing

extension Authenticator {
    /// Reads the keys that a configuration names.
    ///
    /// - Parameters:
    ///   - configuration: The public keys, and the required `iss` and `aud`.
    ///   - secret: The data directory's secret, which verifies HS256 tokens without a `kid`; `nil`: there is none.
    /// - Throws: ``InvalidConfiguration`` naming the file that is missing, unreadable or not such a key.
    public init(configuration: AuthenticationSettings, secret: TokenSecret?) async throws {
        var keys: [String: Key] = [:]
        for key in configuration.keys {
            keys[key.kid] = Key(try await Self.publicKey(key))
        }
        var passedOver: [String] = []
        if let file = configuration.jwksFile {
            let set: [(kid: String, key: PublicKey)]
            (set, passedOver) = try await Self.keySet(file)
            for (kid, key) in set {
                guard keys.updateValue(Key(key), forKey: kid) == nil else {
                    throw InvalidConfiguration(key: "auth.jwksFile", reason: "the kid \(kid) occurs twice")
                }
            }
        }
        self.init(
            ownKey: secret.map { Key(secret: $0.key()) }, keys: keys, issuer: configuration.issuer,
            audience: configuration.audience, leeway: configuration.leeway)
        self.passedOver = passedOver
    }

    /// The algorithm that a setting or a key set names, if applications may sign with it.
    private static func algorithm(_ name: String) -> SignatureAlgorithm? {
        SignatureAlgorithm(rawValue: name).flatMap { [.rs256, .es256, .eddsa].contains($0) ? $0 : nil }
    }

    /// Reads a PEM file. A private key is rejected: a server that only verifies should not have one.
    private static func publicKey(_ key: AuthenticationSettings.Key) async throws -> PublicKey {
        let pem = try await text(of: key.file, key: "auth.keys")
        guard let algorithm = Self.algorithm(key.alg) else { preconditionFailure("alg \(key.alg) passed validation") }
        guard let publicKey = PublicKey(algorithm, pem: pem) else {
            throw InvalidConfiguration(
                key: "auth.keys",
                reason: "\(key.file) is not a public key for \(key.alg) in PEM (of 2048 bits or more, if RSA)")
        }
        return publicKey
    }

    /// Reads a JSON Web Key Set. Keys that are not for verifying are skipped, like unsupported ones (RFC 7517, 5). A
    /// key without `alg` gets the algorithm of its kind, never that of the first token.
    ///
    /// - Returns: Also a sentence for each unsupported key.
    private static func keySet(
        _ file: String
    ) async throws -> (keys: [(kid: String, key: PublicKey)], passedOver: [String]) {
        func invalid(_ reason: String) -> InvalidConfiguration {
            InvalidConfiguration(key: "auth.jwksFile", reason: "\(file): \(reason)")
        }
        let set: KeySet
        do {
            let text = try await text(of: file, key: "auth.jwksFile")
            set = try JSONDecoder().decode(KeySet.self, from: Data(text.utf8))
        } catch let error as InvalidConfiguration {
            throw error
        } catch {
            throw invalid("is not a JSON Web Key Set")
        }
        var keys: [(String, PublicKey)] = []
        var reasons: [String] = []
        for (position, entry) in set.keys.enumerated() {
            guard let entry = entry.value else {
                reasons.append("key \(position + 1) cannot be read")
                continue
            }
            guard entry.isForVerifying else { continue }
            guard !entry.isPrivate else { throw invalid("key \(entry.kid ?? "\(position + 1)") is a private key") }
            guard let kid = entry.kid, !kid.isEmpty else {
                reasons.append("key \(position + 1) has no kid")
                continue
            }
            guard let algorithm = entry.algorithm.flatMap(Self.algorithm) else {
                let alg = entry.alg ?? "another algorithm"
                reasons.append("key \(kid) is for \(alg), not for RS256, ES256 or EdDSA")
                continue
            }
            guard let key = entry.key.flatMap({ PublicKey(algorithm, jwk: $0) }) else {
                reasons.append("key \(kid) is not a key for \(algorithm.rawValue)")
                continue
            }
            keys.append((kid, key))
        }
        // Without a key no client could connect.
        if keys.isEmpty, let reason = reasons.first { throw invalid("has no key that can be used: \(reason)") }
        return (keys, reasons.map { "\(file): \($0)" })
    }

    private static func text(of file: String, key: String) async throws -> String {
        let content = await PlainFile.apart { () -> Result<Data, StartFailure> in
            do throws(StartFailure) { return .success(try PlainFile.read(file)) } catch { return .failure(error) }
        }
        switch content {
        case .failure(let failure): throw InvalidConfiguration(key: key, reason: failure.message)
        case .success(let data):
            guard let text = String(data: data, encoding: .utf8) else {
                throw InvalidConfiguration(key: key, reason: "\(file) is not text")
            }
            return text
        }
    }
}

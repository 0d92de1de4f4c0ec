import Foundation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol
import Tokens

/// The documents that a provider publishes: its configuration (OpenID Connect Discovery 1.0) and its keys.
struct ProviderDocuments: Sendable {
    /// As tokens name it; perhaps with `{tenantid}`.
    let issuer: String
    let keys: IdentityKeys
    let authorization: String?
    let token: String?
    /// The time after which they are asked for again.
    let until: Timestamp

    /// The texts, as they are stored.
    struct Texts: Codable, Sendable {
        /// The configured issuer.
        var issuer: String
        var until: Timestamp
        var configuration: String
        var keys: String
    }

    private struct Configuration: Decodable {
        let issuer: String
        let jwksUri: String
        let authorizationEndpoint: String?
        let tokenEndpoint: String?
    }

    /// - Returns: `nil` if the texts are not those of this provider. It takes up to 0.5 ms: for a thread of a pool.
    init?(_ texts: Texts, of provider: Provider) {
        guard texts.issuer == provider.issuer,
            let configuration = Self.configuration(texts.configuration, of: provider),
            let keys = IdentityKeys(json: Array(texts.keys.utf8))
        else { return nil }
        (issuer, until, self.keys) = (configuration.issuer, texts.until, keys)
        authorization = configuration.authorizationEndpoint
        token = configuration.tokenEndpoint
    }

    /// The address of the keys; `nil` if the text is not the configuration of this provider.
    static func keysURL(in text: String, of provider: Provider) -> String? {
        configuration(text, of: provider)?.jwksUri
    }

    private static func configuration(_ text: String, of provider: Provider) -> Configuration? {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let read = try? decoder.decode(Configuration.self, from: Data(text.utf8)),
            isIssuer(read.issuer, of: provider)
        else { return nil }
        let isSecure = provider.issuer.hasPrefix("https:")
        for url in [read.jwksUri, read.authorizationEndpoint, read.tokenEndpoint].compactMap(\.self) {
            guard WebhookEndpoint.isAllowed(url), !isSecure || url.hasPrefix("https:") else { return nil }
        }
        return read
    }

    /// The issuer must be the configured one (Discovery, section 4.3). Microsoft's addresses for several tenants name a template.
    private static func isIssuer(_ issuer: String, of provider: Provider) -> Bool {
        guard issuer != provider.issuer else { return true }
        return ["common", "organizations"].contains {
            provider.issuer.replacing("/\($0)/", with: "/\(IdentityRules.tenant)/", maxReplacements: 1) == issuer
        }
    }

    static func configurationAddress(of provider: Provider) -> String {
        provider.issuer + (provider.issuer.hasSuffix("/") ? "" : "/") + ".well-known/openid-configuration"
    }

    /// How long a response may be kept, in ms, by its `Cache-Control`: an hour without one, and at least five minutes.
    static func lifetime(_ response: OutgoingResponse) -> Milliseconds {
        let words = (response["cache-control"] ?? "").lowercased().split { $0 == "," || $0 == " " }
        if words.contains("no-store") || words.contains("no-cache") { return shortest }
        guard let age = words.first(where: { $0.hasPrefix("max-age=") }).flatMap({ Int64($0.dropFirst(8)) }) else {
            return 3_600_000
        }
        return max(shortest, min(age, longest / 1_000) * 1_000)
    }

    static let (shortest, longest) = (300_000 as Milliseconds, 86_400_000 as Milliseconds)
}

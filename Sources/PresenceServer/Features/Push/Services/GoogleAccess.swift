import Foundation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol
import Tokens

/// The access token with which pushes are sent to FCM: asked for with a service account's signature (RFC 7523), and used until five
/// minutes before its end. However many pushes need one, it is asked for once. All of it runs on the shard's thread.
final class GoogleAccess {
    enum Answer: Sendable {
        case token(String)
        case failed(DeliveryOutcome)
        /// The pool refused to sign: too much waits, or the server stops.
        case notNow
    }

    private let account: ServiceAccount
    private let signer: ServiceSigner
    private let tls: OutgoingTLS
    private var held: (token: String, until: ContinuousClock.Instant)?
    private let asked = SharedAnswer<Answer>()

    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    /// Seconds before its end in which a token is not used any more; and the fewest and most that one is used.
    private static let (margin, shortest, longest) = (300 as Int64, 30 as Int64, 86_400 as Int64)

    init(_ account: ServiceAccount, _ signer: ServiceSigner, tls: OutgoingTLS) {
        (self.account, self.signer, self.tls) = (account, signer, tls)
    }

    func token(at time: Timestamp, on shard: ShardLogic) async -> Answer {
        if let held, ContinuousClock.now < held.until { return .token(held.token) }
        return await asked.get(on: shard) { [self] in await requestToken(at: time, on: shard) }
    }

    /// FCM did not take it.
    func forget(_ token: String) {
        if held?.token == token { held = nil }
    }

    private func requestToken(at time: Timestamp, on shard: ShardLogic) async -> Answer {
        let claims: [String: ServiceSigner.Claim] = [
            "iss": .text(account.clientEmail), "scope": .text(Self.scope), "aud": .text(account.tokenUri),
            "iat": .time(time), "exp": .time(time + 3_600_000),
        ]
        let (signer, keyID) = (signer, account.privateKeyId)
        let signed: String?
        do {
            signed = try await shard.work(.signatures) { try? signer.token(claims, keyID: keyID) }
        } catch {
            return .notNow
        }
        guard let assertion = signed else {
            return .failed(.failed("the service account's key does not sign", retryAfter: 0))
        }
        // Neither part has a character that a form would have to escape.
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
        var request = OutgoingRequest("POST", account.tokenUri, body: Array(form.utf8))
        request.headers = [("content-type", "application/x-www-form-urlencoded")]
        request.limits.total = PushService.patience
        request.tls = tls
        do throws(OutgoingFailure) {
            let response = try await PushService.client.send(request)
            guard response.status == 200,
                let granted = try? JSONDecoder.snakes.decode(Granted.self, from: Data(response.body)),
                !granted.accessToken.isEmpty, granted.accessToken.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                let error = try? JSONDecoder().decode(Refused.self, from: Data(response.body)).error
                return .failed(
                    PushService.failed("no access token: " + PushService.reason(response.status, error), response))
            }
            // Whatever number it is: first cut, then subtracted from.
            let life = min(max(granted.expiresIn, Self.shortest + Self.margin), Self.longest + Self.margin)
            let seconds = life - Self.margin
            held = (granted.accessToken, ContinuousClock.now + .seconds(seconds))
            return .token(granted.accessToken)
        } catch {
            return .failed(.failed("no access token: \(error.reason)", retryAfter: 0))
        }
    }

    private struct Granted: Decodable {
        let accessToken: String
        let expiresIn: Int64
    }

    private struct Refused: Decodable {
        let error: String
    }
}

/// A service account's key, as Google's console gives it out.
struct ServiceAccount: Decodable, Sendable {
    let projectId: String
    let privateKey: String
    let clientEmail: String
    let tokenUri: String
    let privateKeyId: String?

    /// - Throws: if it is none.
    init(_ json: String) throws {
        self = try JSONDecoder.snakes.decode(ServiceAccount.self, from: Data(json.utf8))
    }

    /// Whether there is something in each, and nothing in the project's name that would lead a call elsewhere.
    var isWhole: Bool {
        !privateKey.isEmpty && !clientEmail.isEmpty && (1...100).contains(projectId.utf8.count)
            && projectId.utf8.allSatisfy {
                (0x30...0x3A).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D || $0 == 0x2E
            }
    }
}

extension JSONDecoder {
    /// For Google's names.
    fileprivate static var snakes: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }
}

import EventLoops
import PresenceProtocol
import Tokens

/// The tokens with which pushes go to APNs. Apple wants one to be used for 20 to 60 minutes, by all servers of a team: the one
/// that is in use is shared through Redis (`ProviderTokenKeeper`).
final class ProviderTokens: Sendable {
    private let team: String
    private let keyID: String
    private let signer: ServiceSigner
    private let current = Locked<ProviderToken?>(nil)

    /// ms for which one is used.
    static let life: Milliseconds = 45 * 60_000

    init(team: String, keyID: String, signer: ServiceSigner) {
        (self.team, self.keyID, self.signer) = (team, keyID, signer)
    }

    /// What it is called in Redis: another key has another one.
    var id: Identifier { WebhookEndpoint.id(of: "\(team) \(keyID)") }

    /// The one to send with; `nil` if there is none, or it is too old.
    func held(at time: Timestamp) -> String? {
        current.withLock { $0 }.flatMap { $0.isGood(at: time) ? $0.text : nil }
    }

    /// Whether a batch may begin with the one that is held.
    func isFresh(at time: Timestamp) -> Bool { current.withLock { $0 }?.isFresh(at: time) ?? false }

    func hold(_ token: ProviderToken) { current.withLock { $0 = token } }

    /// A new one; `nil` if the key does not sign.
    func make(at time: Timestamp) async -> ProviderToken? {
        guard let text = try? await signer.token(["iss": .text(team), "iat": .time(time)], keyID: keyID) else {
            return nil
        }
        return ProviderToken(madeAt: time, text: text)
    }
}

struct ProviderToken: Sendable, Equatable {
    /// In ms since 1970.
    let madeAt: Timestamp
    let text: String

    init(madeAt: Timestamp, text: String) { (self.madeAt, self.text) = (madeAt, text) }

    /// As Redis has it: `MADEAT TOKEN`.
    init?(_ record: String) {
        let words = record.split(separator: " ")
        guard words.count == 2, let madeAt = Timestamp(words[0]) else { return nil }
        self.init(madeAt: madeAt, text: String(words[1]))
    }

    var record: String { "\(madeAt) \(text)" }

    /// Whether a batch may begin with it. One from the future is from before Redis' clock went back.
    func isFresh(at time: Timestamp) -> Bool { madeAt <= time + 60_000 && time < madeAt + ProviderTokens.life }
    /// A batch that began at its end takes some time.
    func isGood(at time: Timestamp) -> Bool { time < madeAt + ProviderTokens.life + 60_000 }
}

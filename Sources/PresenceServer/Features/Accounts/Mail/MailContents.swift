import Foundation
import PresenceCore
import PresenceProtocol
import Redis

/// The contents of a waiting mail. Its words are chosen when it is sent, by the recipient's language at that time.
struct MailContents: Codable, Sendable, Equatable {
    let kind: MailKind
    /// The account; `nil`: the one that has the mail's address.
    var user: String?
    var values: [String: String] = [:]

    /// One line. Servers of earlier versions send it with the English text.
    var encoded: String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) }
    }

    init(_ kind: MailKind, user: UserID? = nil, _ values: [String: String] = [:]) {
        (self.kind, self.user, self.values) = (kind, user?.string, values)
    }

    init?(_ text: Substring) {
        guard let read = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = read
    }
}

extension Accounts {
    /// A mail in the language of its recipient.
    func written(_ mail: Mail) async -> Mail {
        guard let order = mail.order else { return mail }
        let (language, displayName) = await recipient(of: order, at: mail.to)
        var values = order.values
        values["email"] = mail.to
        values["displayName"] = displayName ?? mail.to
        let template = templates.templates.template(order.kind, for: language)
        var mail = mail
        (mail.subject, mail.text, mail.html) = template.filled(values)
        return mail
    }

    /// If Redis cannot be read, the mail is in English: one in the wrong language is better than none.
    private func recipient(of order: MailContents, at recipient: String) async -> (language: String?, name: String?) {
        do throws(RedisFailure) {
            guard let user = try await owner(of: order, at: recipient) else { return (nil, nil) }
            let words = try await shard.command([
                "HMGET", shard.partitions.keys(of: user).user(user), "language", "profile",
            ])
            let fields = (words.array ?? []).map(\.string)
            guard fields.count == 2 else { return (nil, nil) }
            return (fields[0].flatMap(Self.text), fields[1].flatMap(Self.displayName))
        } catch {
            return (nil, nil)
        }
    }

    private func owner(of order: MailContents, at recipient: String) async throws(RedisFailure) -> UserID? {
        if let user = order.user { return UserID(user) }
        guard let logins, let email = EmailAddress(recipient) else { return nil }
        let keys = logins.keys(of: email.text)
        let claim = try await shard.command(["HGET", keys.emails(with: email), email.text])
        return claim.string.flatMap { AccountClaim($0) }?.user
    }

    /// The text of a JSON string.
    private static func text(_ json: String) -> String? {
        try? JSONDecoder().decode(String.self, from: Data(json.utf8))
    }

    private static func displayName(_ profile: String) -> String? {
        ProfileBody.displayName(Array(profile.utf8)).flatMap { text(String(decoding: $0, as: UTF8.self)) }
    }
}

import PresenceProtocol
import Redis

/// A user who may not connect, sign in or call until a time.
///
/// It is the field `ban` of the user's record, "UNTIL REASON", which scripts that open sessions, sign in or write read
/// anyway (`banned` in lib.lua). It ends by time alone: scripts and shards compare `until` with Redis' clock.
package struct Ban: Equatable, Sendable {
    /// `nil`: it has no end.
    package let until: Timestamp?
    package let reason: String

    /// The end, in Redis, of a ban that has none.
    package static let noEnd: Timestamp = 9_007_199_254_740_991
    /// The longest reason of a close frame, in bytes (RFC 6455, 5.5).
    private static let longestCloseReason = 123

    /// The words of a script's reply, after `BANNED`, or of an event: the end, and the encoded reason.
    package init?(_ end: String?, _ reason: String?) {
        guard let end = end.flatMap({ Timestamp($0) }), var json = reason else { return nil }
        let text = json.withUTF8 { utf8 in
            var scanner = JSONScanner(UnsafeRawBufferPointer(utf8))
            return (try? scanner.value())?.string
        }
        guard let text else { return nil }
        until = end == Self.noEnd ? nil : end
        self.reason = text
    }

    /// The field of a user's record; `nil` if there is none, or if it is over.
    init?(field: RedisValue, at now: Timestamp) {
        guard let words = field.string?.split(separator: " ", maxSplits: 1), words.count == 2 else { return nil }
        self.init(String(words[0]), String(words[1]))
        if let until, until <= now { return nil }
    }

    /// A reason as Redis has it: an encoded JSON string without spaces.
    package static func encoded(_ reason: String) -> String {
        JSONWriter.encoded(reason).split(separator: " ", omittingEmptySubsequences: false).joined(separator: #"\u0020"#)
    }

    /// As a script replies it.
    var reply: RedisValue {
        .array([.status("BANNED"), .status(String(until ?? Self.noEnd)), .status(Self.encoded(reason))])
    }

    package var refusal: Refusal {
        Refusal(.init(code: .banned, message: "this user is banned", reason: reason, until: until))
    }

    /// JSON, like that of other closes. It lacks a reason that is too long for a close frame; the error before it has
    /// the reason.
    var closeReason: String {
        var json = Array(#"{"code":"banned""#.utf8)
        if let until { JSONWriter.member("until", until, to: &json) }
        var whole = json
        JSONWriter.member("reason", reason, to: &whole)
        if whole.count < Self.longestCloseReason { json = whole }
        return String(decoding: json, as: UTF8.self) + "}"
    }
}

/// The standing of a token with a valid signature, by the record of its user.
enum TokenStanding: Equatable {
    case valid
    case revoked
    case banned(Ban)

    /// From the fields `revokedAt` and `ban` of the user's record.
    init(_ fields: RedisValue, issuedAt: Timestamp, at now: Timestamp) {
        let fields = fields.array ?? []
        guard issuedAt >= fields.first?.int ?? 0 else {
            self = .revoked
            return
        }
        self = fields.count > 1 ? Ban(field: fields[1], at: now).map { .banned($0) } ?? .valid : .valid
    }
}

extension ShardLogic {
    /// Rejects a `connect`, in its turn.
    func turnAway(_ connection: Connection, _ id: Int64?, _ ban: Ban) {
        replies.now(on: connection) { [self] in sendAway(connection, id, ban) }
    }

    fileprivate func sendAway(_ connection: Connection, _ id: Int64?, _ ban: Ban) {
        replies.error(ban.refusal.message.with(id: id), to: connection)
        close(connection, .banned, reason: ban.closeReason)
    }
}

extension Sessions {
    /// A user was banned: their sessions end at once, also lingering ones and those that are just being opened.
    package func handle(banned event: StoreEvent) {
        let words = event.words
        guard let user = event.subject.flatMap({ users[$0] }), words.count > 1, let ban = Ban(words[0], words[1])
        else { return }
        let ahead = redisNow(for: user) - shard.clock.now
        let named = words[2...]
        for session in user.sessions where named.contains(session.id) || session.began + ahead <= event.at {
            expel(session, ban)
        }
    }

    func expel(_ session: Session, _ ban: Ban) {
        guard let connection = session.connection else { return close(session, .banned, reason: ban.closeReason) }
        if connection.isGreeted {
            shard.sendAway(connection, nil, ban)
        } else {
            // The reply to the pending `connect` uses this.
            session.ban = ban
        }
    }
}

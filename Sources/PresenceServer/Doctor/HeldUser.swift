import PresenceCore
import PresenceProtocol
import Redis

/// A session as stored in Redis: `INCARNATION DEVICE KIND STATE BEGAN`.
struct HeldSession: Equatable {
    let name: String
    let incarnation: String
    let kind: String
    let isActive: Bool
    let began: Timestamp

    /// `nil` if the scripts could not read the value either.
    init?(name: String, value: String) {
        let words = value.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 5, words.allSatisfy({ !$0.isEmpty }), words[3].utf8.count == 1,
            words[4].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let began = Timestamp(words[4])
        else { return nil }
        self.name = name
        incarnation = String(words[0])
        kind = String(words[2])
        isActive = words[3] == "a"
        self.began = began
    }
}

/// A user as stored in Redis at one moment: what they chose, what is shown of them, and their sessions.
struct HeldUser {
    let id: UserID
    let sessions: [HeldSession]
    /// Names of sessions with an unreadable value. With one, every script that handles this user fails.
    let malformedSessions: [String]
    private let values: [String: String]
    /// Fields that are not valid text.
    private let unreadable: [String]

    private static let numbers = [
        "clearAt", "chosenVersion", "lastSeen", "since", "presenceVersion", "profileVersion", "barredAt",
    ]
    private static let texts = [
        "chosen", "text", "status", "shown", "presence", "profile", "visibility", "held", "wish",
        "email", "emailWanted", "emailReleasing", "identities", "identityWanted", "identityReleasing",
    ]
    static let fields = numbers + texts

    /// - Parameters:
    ///   - values: The values of `fields`, as returned by `HMGET`.
    ///   - sessions: As returned by `HGETALL`.
    init(_ id: UserID, values: [RedisValue], sessions: [RedisValue]) {
        self.id = id
        var texts: [String: String] = [:]
        var unreadable: [String] = []
        for (field, value) in zip(Self.fields, values) where !value.isNull {
            if let text = value.string { texts[field] = text } else { unreadable.append(field) }
        }
        self.values = texts
        self.unreadable = unreadable
        var readable: [HeldSession] = []
        var malformed: [String] = []
        for index in stride(from: 0, to: sessions.count - 1, by: 2) {
            let name = sessions[index].string ?? "(no text)"
            if let value = sessions[index + 1].string, let session = HeldSession(name: name, value: value) {
                readable.append(session)
            } else {
                malformed.append(name)
            }
        }
        self.sessions = readable
        malformedSessions = malformed
    }

    func number(_ field: String) -> Int64? { values[field].flatMap { Int64($0) } }

    /// Whether the user may have a record of something unique (`claim-lib.lua`).
    var hasRecord: Bool { values["held"] != nil || values["wish"] != nil }

    /// Whether there is an account, or a remainder of one.
    var hasAccount: Bool {
        ["email", "emailWanted", "emailReleasing", "identities", "identityWanted", "identityReleasing"]
            .contains { values[$0] != nil }
    }

    /// Whether the visibility is unreadable, so that the user is shown to no one.
    var isVisibilityMalformed: Bool {
        unreadable.contains("visibility") || values["visibility"].map { PolicyHead($0) == nil } ?? false
    }

    /// Fields whose value no script writes, except the visibility.
    var malformedFields: [String] {
        var malformed = unreadable.filter { $0 != "visibility" }
        malformed += Self.numbers.filter { values[$0] != nil && number($0) == nil }
        if let status = values["status"], !["online", "away", "busy", "offline"].contains(status) {
            malformed.append("status")
        }
        if let chosen = values["chosen"], !["auto", "busy", "invisible"].contains(chosen) {
            malformed.append("chosen")
        }
        if let text = values["text"], !Self.isJSON(text) { malformed.append("text") }
        // A body is sent to clients unchanged, so it must begin as clients expect.
        for body in ["presence", "profile"] {
            let hasVersion = values[body + "Version"] != nil
            if values[body].map({ !Self.isBody($0) }) ?? hasVersion { malformed.append(body) }
            if values[body] != nil, !hasVersion { malformed.append(body + "Version") }
        }
        return malformed
    }

    /// Whether the shown presence follows from the sessions, by the rule of `announce` in presence-lib.lua.
    var isShownRightly: Bool {
        let status = shownStatus
        let before = values["status"] ?? "offline"
        guard status != "offline" else { return before == "offline" }
        let devices = Set(sessions.map(\.kind)).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let body =
            (values["text"].map { #","text":"# + $0 } ?? "")
            + #","devices":["# + devices.map { "\"\($0)\"" }.joined(separator: ",") + "]"
        return before == status && values["shown"] == status + body
    }

    private var shownStatus: String {
        if sessions.isEmpty || values["chosen"] == "invisible" { return "offline" }
        if values["chosen"] == "busy" { return "busy" }
        return sessions.contains(where: \.isActive) ? "online" : "away"
    }

    private static func isBody(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { RegisterEncoder.isBody(UnsafeRawBufferPointer($0)) }
    }

    private static func isJSON(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var scanner = JSONScanner(UnsafeRawBufferPointer(bytes))
            do {
                _ = try scanner.value()
                try scanner.finish()
                return true
            } catch {
                return false
            }
        }
    }
}

import Foundation
import PresenceKit
import PresenceMessages
import PresenceProtocol

// Reports, exports and the settings of notifications (docs/protocol.md, sections 17 and 21; docs/privacy.md).
extension InMemoryServer.State {
    // MARK: Reports

    mutating func report(_ asked: Object, by user: String) throws(Refusal) -> HTTPResponse {
        var report = asked.filter { ["user", "conversation", "message", "reason", "text"].contains($0.key) }
        guard let reason = report["reason"] as? String, (1...100).contains(reason.count) else {
            throw .invalid("reason", nil)
        }
        guard (report["text"] as? String ?? "").count <= 2_000 else { throw .invalid("text", nil) }
        let missing = Refusal(code: .notFound, message: "there is no such thing to report")
        if let id = report["conversation"] as? String {
            guard let talk = talks[id], talk.members.contains(user) else { throw missing }
            if let message = report["message"] as? String {
                guard let stored = talk.log.first(where: { $0["id"] as? String == message }),
                    let sender = stored["from"] as? String, report["user"] as? String ?? sender == sender
                else { throw missing }
                report["user"] = sender
                report["evidence"] = stored
            } else if let other = report["user"] as? String, !talk.members.contains(other) {
                throw missing
            }
        } else if report["message"] != nil {
            throw Refusal(code: .badRequest, message: "a message needs its conversation")
        }
        guard report["user"] as? String != user else { throw .invalid("user", nil) }
        guard report["user"] != nil || report["conversation"] != nil else {
            throw Refusal(code: .badRequest, message: "a user or a conversation is needed")
        }
        if let former = reports.first(where: { $0["by"] as? String == user && Self.isSame($0, report) }) {
            return .json(["report": ["id": former["id"]!] as Object], status: 201)
        }
        report.merge(["id": "r\(reports.count + 1)", "by": user, "at": Int(tick())]) { $1 }
        reports.append(report)
        return .json(["report": ["id": report["id"]!] as Object], status: 201)
    }

    private static func isSame(_ one: Object, _ other: Object) -> Bool {
        ["user", "conversation", "message"].allSatisfy { one[$0] as? String == other[$0] as? String }
    }

    // MARK: Exports

    /// A tar with the lines of a user.
    func export(of user: String) -> HTTPResponse {
        var lines: [Object] = [["type": "user", "user": user]]
        if accounts[user] != nil { lines.append(["type": "account", "account": account(user)]) }
        lines.append(["type": "profile", "profile": profile(user)])
        for (id, talk) in talks.sorted(by: { $0.key < $1.key }) where talk.members.contains(user) {
            // Its last message may be another user's.
            let conversation = view(of: id, for: user).filter { $0.key != "lastMessage" }
            lines.append(["type": "conversation", "conversation": conversation])
            for message in talk.log where message["from"] as? String == user {
                let line: Object = ["conversation": id, "message": message]
                lines.append(["type": "message", "message": line])
            }
        }
        let body = lines.map { InMemoryServer.bytes($0) + [UInt8(ascii: "\n")] }.joined()
        return HTTPResponse(
            status: 200, headers: ["content-type": "application/x-tar"],
            body: Data(Self.tar("export.jsonl", Array(body))))
    }

    /// A tar (POSIX.1-1988) with one file.
    private static func tar(_ name: String, _ content: [UInt8]) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: 512)
        func put(_ text: String, at place: Int) {
            header.replaceSubrange(place..<place + text.utf8.count, with: text.utf8)
        }
        func octal(_ number: Int, _ digits: Int) -> String {
            let text = String(number, radix: 8)
            return String(repeating: "0", count: digits - text.count) + text
        }
        put(name, at: 0)
        put("0000600\u{0}0000000\u{0}0000000\u{0}", at: 100)
        put(octal(content.count, 11) + "\u{0}" + octal(0, 11) + "\u{0}        0", at: 124)
        put("ustar\u{0}00", at: 257)
        put(octal(header.reduce(0) { $0 + Int($1) }, 6) + "\u{0} ", at: 148)
        let padding = [UInt8](repeating: 0, count: (512 - content.count % 512) % 512 + 1_024)
        return header + content + padding
    }

    // MARK: Settings of notifications

    /// The settings as users who have set nothing have them.
    static let defaultSettings: Object = [
        "kinds": Object(), "messages": ["direct": "all", "groups": "all"] as Object, "preview": true,
        "whileBusy": "push", "version": 0,
    ]

    func settings(of user: String) -> Object { notificationSettings[user] ?? Self.defaultSettings }

    /// Replaces everything: a missing member gets its default.
    mutating func setSettings(_ asked: Object, of user: String) throws(Refusal) -> Object {
        var settings = Self.defaultSettings
        var kinds: Object = [:]
        for (kind, channels) in asked["kinds"] as? Object ?? [:] {
            let channels = channels as? Object ?? [:]
            kinds[kind] =
                ["inbox": channels["inbox"] as? Bool ?? true, "push": channels["push"] as? Bool ?? true] as Object
        }
        guard kinds.count <= 100 else { throw .invalid("kinds", nil) }
        settings["kinds"] = kinds
        var messages: Object = [:]
        for place in ["direct", "groups"] {
            let value = (asked["messages"] as? Object)?[place] as? String ?? "all"
            guard ["all", "none"].contains(value) else { throw .invalid("messages.\(place)", nil) }
            messages[place] = value
        }
        settings["messages"] = messages
        settings["preview"] = asked["preview"] as? Bool ?? true
        let whileBusy = asked["whileBusy"] as? String ?? "push"
        guard ["push", "hold"].contains(whileBusy) else { throw .invalid("whileBusy", nil) }
        settings["whileBusy"] = whileBusy
        settings["quiet"] = try (asked["quiet"] as? Object).map(Self.quiet)
        if let stored = notificationSettings[user] {
            settings["version"] = stored["version"]
            // Settings that change nothing make no event.
            if InMemoryServer.bytes(settings) == InMemoryServer.bytes(stored) { return stored }
        }
        settings["version"] = Int(nextVersion())
        notificationSettings[user] = settings
        for peer in peers.values where peer.isConnected && peer.user == user {
            send(["type": "ownNotificationSettings", "settings": settings], to: peer)
        }
        return settings
    }

    private static func quiet(_ asked: Object) throws(Refusal) -> Object {
        let zone = asked["timezone"] as? String ?? ""
        guard TimeZone(identifier: zone) != nil, zone.contains("/") || zone == "UTC" else {
            throw .invalid("quiet.timezone", nil)
        }
        for place in ["from", "to"] {
            guard let time = asked[place] as? String, time.wholeMatch(of: /([01]\d|2[0-3]):[0-5]\d/) != nil else {
                throw .invalid("quiet.\(place)", nil)
            }
        }
        let days = asked["days"] as? [Int] ?? Array(1...7)
        guard !days.isEmpty, Set(days).isSubset(of: 1...7) else { throw .invalid("quiet.days", nil) }
        let allow = asked["allow"] as? [String] ?? []
        guard Set(allow).isSubset(of: ["urgent"]) else { throw .invalid("quiet.allow", nil) }
        return [
            "timezone": zone, "from": asked["from"]!, "to": asked["to"]!, "days": Set(days).sorted(), "allow": allow,
        ]
    }

    // MARK: The server

    /// `GET /v1/server`, as far as clients use it.
    var capabilities: Object {
        var features = ["accounts", "usernames", "messages", "notifications", "reports", "contactRequests"]
        if hasDirectory { features.append("directory") }
        return ["features": features, "notificationSettings": ["kinds": kinds, "quietHours": true] as Object]
    }
}

import PresenceProtocol

/// A user's device: its pushes are sent one after the other.
struct PushTarget: Hashable {
    let user: String
    let token: String

    init(user: String, token: String) { (self.user, self.token) = (user, token) }

    /// As a queue has it: `LENGTH:USERTOKEN`, without a space, since neither id nor token has one.
    var subject: String { "\(user.utf8.count):\(user)\(token)" }

    /// `nil` for a subject that no server has written.
    init?(subject: String) {
        guard let colon = subject.firstIndex(of: ":"), let length = Int(subject[..<colon]) else { return nil }
        let rest = subject[subject.index(after: colon)...].utf8
        guard length >= 1, length <= rest.count else { return nil }
        let end = rest.index(rest.startIndex, offsetBy: length)
        (user, token) = (String(rest[..<end]) ?? "", String(rest[end...]) ?? "")
    }

    /// Also of an entry of an earlier version, whose subject is the user.
    init?(_ event: QueuedEvent) {
        if let target = PushTarget(subject: event.subject) {
            self = target
        } else if let message = PushMessage(event.body) {
            self.init(user: message.user, token: message.pushToken)
        } else {
            return nil
        }
    }

    /// A platform's token as JSON, as scripts compare it. A subscription is JSON already.
    static func json(_ token: String, of platform: String) -> String {
        platform == WebPush.platform ? token : json(token)
    }

    static func json(_ token: String) -> String {
        var json: [UInt8] = []
        JSONWriter.string(token, to: &json)
        return String(decoding: json, as: UTF8.self)
    }
}

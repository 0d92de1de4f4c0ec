/// What one client holds of one conversation: its messages, and how far its members are.
struct Chat {
    /// How far its user is, as this client means to say it.
    struct Marks: Equatable {
        var delivered: Int64 = 0
        var read: Int64 = 0
    }

    private(set) var messages: [Int64: ChatWire.Message] = [:]
    /// Up to here without gaps.
    private(set) var last: Int64 = 0
    private(set) var version: Int64?
    private(set) var register: ChatWire.Register?
    var wanted = Marks()
    /// What the server was told last, answered or not.
    var told = Marks()
    var isMarking = false

    /// Where to go on, as a member of `subscribe`.
    func cursor(_ id: String) -> String {
        guard let version else { return #"{"id":"\#(id)","after":0}"# }
        return #"{"id":"\#(id)","after":\#(last),"messagesVersion":\#(version)}"#
    }

    /// A part of a subscription's answer.
    mutating func take(_ part: ChatWire.Followed) {
        let news = part.messages ?? []
        if part.reset == true {
            messages = [:]
            last = (news.map(\.seq).min() ?? 1) - 1
        }
        for message in news { _ = take(message, version: nil) }
        version = part.messagesVersion ?? version
    }

    /// A message; whether it came in its turn.
    mutating func take(_ message: ChatWire.Message, version newer: Int64?) -> Bool {
        let held = messages[message.seq]
        if held.map({ $0.version < message.version }) ?? true { messages[message.seq] = message }
        if let newer { version = max(version ?? newer, newer) }
        guard message.seq <= last + 1 else { return false }
        while messages[last + 1] != nil { last += 1 }
        return true
    }

    /// A register with a larger version replaces the one that is held.
    mutating func take(_ newer: ChatWire.Register) {
        if newer.version > register?.version ?? 0 { register = newer }
    }
}

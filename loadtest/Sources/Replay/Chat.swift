/// A client's state of one conversation: its messages, and its members' marks.
struct Chat {
    /// The marks of its user, as this client intends to set them.
    struct Marks: Equatable {
        var delivered: Int64 = 0
        var read: Int64 = 0
    }

    private(set) var messages: [Int64: ChatWire.Message] = [:]
    /// The last message before which there are no gaps.
    private(set) var last: Int64 = 0
    private(set) var version: Int64?
    private(set) var register: ChatWire.Register?
    var wanted = Marks()
    /// The marks that were last sent to the server, answered or not.
    var told = Marks()
    var isMarking = false

    /// The position to continue from, as a member of `subscribe`.
    func cursor(_ id: String) -> String {
        guard let version else { return #"{"id":"\#(id)","after":0}"# }
        return #"{"id":"\#(id)","after":\#(last),"messagesVersion":\#(version)}"#
    }

    /// Handles a part of a subscription's answer.
    mutating func apply(_ part: ChatWire.Followed) {
        let news = part.messages ?? []
        if part.reset == true {
            messages = [:]
            last = (news.map(\.seq).min() ?? 1) - 1
        }
        for message in news { _ = apply(message, version: nil) }
        version = part.messagesVersion ?? version
    }

    /// Handles a message. Returns whether it arrived in order.
    mutating func apply(_ message: ChatWire.Message, version newer: Int64?) -> Bool {
        let held = messages[message.seq]
        if held.map({ $0.version < message.version }) ?? true { messages[message.seq] = message }
        if let newer { version = max(version ?? newer, newer) }
        guard message.seq <= last + 1 else { return false }
        while messages[last + 1] != nil { last += 1 }
        return true
    }

    /// A register with a larger version replaces the present one.
    mutating func apply(_ newer: ChatWire.Register) {
        if newer.version > register?.version ?? 0 { register = newer }
    }
}

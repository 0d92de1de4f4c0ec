/// The true state of one conversation: the changes that the server has acknowledged.
struct ChatTruth {
    /// The places of its members among the cast.
    let members: [Int]
    /// By their numbers.
    private(set) var messages: [Int64: Sent] = [:]
    private(set) var marks: [Int: Chat.Marks] = [:]

    struct Sent: Equatable {
        let id: String
        let from: Int
        let text: String
    }

    init(members: [Int]) {
        self.members = members
    }

    var last: Int64 { Int64(messages.count) }

    /// Records an acknowledged message. Returns what is wrong with it.
    mutating func record(_ sent: Sent, seq: Int64) -> String? {
        if let other = messages[seq] { return "\(sent.id) and \(other.id) were both acknowledged as \(seq)" }
        messages[seq] = sent
        return nil
    }

    /// Records an acknowledged mark: it only moves forward, and read messages are delivered.
    mutating func record(_ told: Chat.Marks, of place: Int) {
        let former = marks[place] ?? Chat.Marks()
        let read = max(former.read, told.read)
        marks[place] = Chat.Marks(delivered: max(former.delivered, told.delivered, read), read: read)
    }

    func unread(of place: Int) -> Int64 {
        let own = messages.filter { $0.value.from == place }.keys.max() ?? 0
        return last - max(marks[place]?.read ?? 0, own)
    }

    /// The fault in a member's messages, as a sentence.
    func contradiction(by held: [Int64: ChatWire.Message], names: (Int) -> String) -> String? {
        guard held.count == messages.count, messages.isEmpty || messages[last] != nil else {
            return "has \(held.count) messages, and \(messages.count) up to number \(last) were sent"
        }
        for (seq, sent) in messages {
            guard let message = held[seq] else { return "has no message \(seq), which is \(sent.id)" }
            guard message.id == sent.id, message.text == sent.text, message.from == names(sent.from) else {
                return "has \(message.id) of \(message.from) as \(seq), which is \(sent.id) of \(names(sent.from))"
            }
        }
        return nil
    }

    /// The fault in a member's view of all members' marks, as a sentence.
    func contradiction(by register: ChatWire.Register?, for place: Int, names: (Int) -> String) -> String? {
        guard let register else { return "shows nothing of it" }
        guard register.last ?? 0 == last, register.lastMessage?.id == messages[last]?.id else {
            return "shows \(register.last ?? 0) messages, the last \(register.lastMessage?.id ?? "none"), of \(last)"
        }
        guard register.unread ?? 0 == unread(of: place) else {
            return "shows \(register.unread ?? 0) unread messages of \(unread(of: place))"
        }
        let shown = register.members ?? []
        guard Set(shown.map(\.user)) == Set(members.map(names)) else { return "shows other members" }
        for place in members {
            let (member, truth) = (shown.first { $0.user == names(place) }!, marks[place] ?? Chat.Marks())
            guard member.delivered ?? 0 == truth.delivered, member.read ?? 0 == truth.read else {
                return "shows \(member.user) at \(member.delivered ?? 0) and \(member.read ?? 0), "
                    + "who is at \(truth.delivered) and \(truth.read)"
            }
        }
        return nil
    }
}

import Foundation

/// What is held of one conversation's messages: a stretch without gaps, and what came after one.
///
/// ```text
///   first … │ oldest ……………… through │ gap │ 63 64 │        by number
///    (server) └── held, complete ──┘        └ told of before what lies between was
/// ```
///
/// Answers and events may be taken in any order: of a message the larger version counts, and where to go on (``cursor``)
/// moves only over what is complete.
struct Talk {
    let id: String
    /// Tells it from another one of the same conversation, held before or after it.
    let identity = UUID()
    private var messages: [Int64: Message] = [:]
    /// The number at which the complete stretch begins; `nil` as long as nothing is known.
    private(set) var oldest: Int64?
    /// The number at which it ends; `oldest - 1` if it is empty.
    private(set) var through: Int64 = 0
    /// The oldest message that the server has.
    private(set) var first: Int64 = 1
    /// The last change that is known to have been taken in.
    private var version: Int64?
    /// The newest change told on this connection before its subscription was answered.
    private var earlyVersion: Int64?
    /// Whether the present connection's subscription was answered.
    private(set) var isLive = false
    /// Up to where the own messages have arrived at, and were read by, every other member: these marks only grow.
    private var delivered: Int64 = 0
    private var read: Int64 = 0
    private var members: [ChatConversation.Member] = []

    init(id: String) {
        self.id = id
    }

    /// Where to go on after a break.
    var cursor: Ask.Cursor {
        oldest == nil
            ? Ask.Cursor(id: id) : Ask.Cursor(id: id, after: through, messagesVersion: version)
    }

    /// Whether the server has messages before those that are held.
    var hasEarlier: Bool { oldest.map { $0 > first } ?? true }

    /// The newest message that is known of.
    var newest: Int64 { max(through, messages.keys.max() ?? 0) }

    func contains(_ message: String) -> Bool { messages.values.contains { $0.id == message } }

    func message(_ id: String) -> Message? { messages.values.first { $0.id == id } }

    // MARK: What comes in

    /// There is another connection: what follows was not told on it.
    mutating func begin() {
        isLive = false
        earlyVersion = nil
    }

    /// The subscription of the present connection is answered, with all its parts.
    mutating func answered(_ parts: [Wire.Followed]) {
        let news = parts.flatMap { $0.messages ?? [] }
        let last = parts.compactMap(\.last).max() ?? news.map(\.seq).max() ?? 0
        first = parts.compactMap(\.first).max() ?? first
        if oldest == nil || parts.contains(where: { $0.reset == true }) {
            // Only what was told of since then is not in the answer.
            let begin = news.map(\.seq).min() ?? last + 1
            messages = messages.filter { $0.key >= begin }
            oldest = begin
            through = begin - 1
        }
        for message in news { hold(message) }
        extend()
        version = (parts.compactMap(\.messagesVersion) + [earlyVersion].compactMap(\.self)).max() ?? version
        earlyVersion = nil
        isLive = true
    }

    /// A `message` event.
    mutating func heard(_ message: Wire.Message, version newer: Int64?) {
        hold(message)
        extend()
        guard let newer else { return }
        if isLive { version = max(version ?? newer, newer) } else { earlyVersion = max(earlyVersion ?? newer, newer) }
    }

    /// A message that was answered: sent, edited, deleted.
    mutating func take(_ message: Wire.Message) {
        hold(message)
        extend()
    }

    /// A page of what came before `oldest`.
    mutating func take(_ page: Wire.Page) {
        first = page.first
        guard let former = oldest else { return }
        for message in page.messages where message.seq < former { hold(message, isOlder: true) }
        var begin = former
        while begin > first, messages[begin - 1] != nil { begin -= 1 }
        oldest = begin
        // An empty page: there is nothing before.
        if page.messages.isEmpty { first = max(first, begin) }
    }

    private mutating func hold(_ wire: Wire.Message, isOlder: Bool = false) {
        // What is not shown yet comes with its page.
        if let oldest, wire.seq < oldest, !isOlder { return }
        let held = messages[wire.seq]
        if let held, held.version >= wire.version { return }
        var message = Message(wire, in: id)
        if let held { (message.status, message.statusUpdatedAt) = (held.status, held.statusUpdatedAt) }
        messages[wire.seq] = message
    }

    private mutating func extend() {
        guard oldest != nil else { return }
        while messages[through + 1] != nil { through += 1 }
    }

    // MARK: Marks

    /// How far the members are.
    mutating func mark(_ members: [ChatConversation.Member], own: String) {
        self.members = members
        let others = members.filter { $0.user != own }
        guard !others.isEmpty else { return }
        delivered = max(delivered, others.map(\.delivered).min()!)
        let reads = others.compactMap(\.read)
        if reads.count == others.count { read = max(read, reads.min()!) }
    }

    // MARK: What is shown

    /// The messages, oldest first, with how far each has come.
    mutating func shown(to own: String, at date: Date) -> [Message] {
        guard let oldest else { return [] }
        let ownRead = members.first { $0.user == own }?.read ?? 0
        let readers = members.filter { $0.user != own }
        return messages.keys.filter { $0 >= oldest }.sorted().map { number in
            let isOwn = messages[number]!.senderId == own
            let status: MessageStatus =
                isOwn
                ? (number <= read ? .read : number <= delivered ? .delivered : .sent)
                : (number <= ownRead ? .read : .delivered)
            messages[number]!.advance(to: status, at: date)
            var message = messages[number]!
            message.readBy = readers.filter { $0.user != message.senderId && ($0.read ?? 0) >= number }.map(\.user)
            return message
        }
    }
}

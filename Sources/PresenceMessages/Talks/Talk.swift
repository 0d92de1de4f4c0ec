import Foundation

/// The known messages of a conversation: a range without gaps, and messages after a gap.
///
/// ```text
///   first … │ oldest ……………… through │ gap │ 63 64 │        by number
///    (server) └── complete range ───┘        └ received before the ones in the gap
/// ```
///
/// Replies and events may be handled in any order: the larger version of a message wins, and the position for the next
/// subscription (``cursor``) only moves over complete ranges.
struct Talk {
    let id: String
    /// Distinguishes this object from others for the same conversation.
    let identity = UUID()
    /// The signed-in user; empty while unknown.
    var own: String { didSet { if own != oldValue { touched = .all } } }
    private var messages: [Int64: Message] = [:]
    /// The numbers of the messages, in their order.
    private var numbers: [Int64] = []
    private var ids: [String: Int64] = [:]
    /// The messages that must be shown anew.
    private var touched = Touched.all
    /// The first number of the complete range; `nil` while nothing is known.
    private(set) var oldest: Int64?
    /// The last number of the range; `oldest - 1` if it is empty.
    private(set) var through: Int64 = 0
    /// The oldest message on the server.
    private(set) var first: Int64 = 1
    /// The last change that is known to be applied.
    private var version: Int64?
    /// The newest change received on this connection before its subscription was answered.
    private var earlyVersion: Int64?
    /// Whether the current connection's subscription was answered.
    private(set) var isLive = false
    /// Whether it comes from the device, and no subscription was answered since.
    private(set) var isStale = false
    /// Whether only its newest message is known.
    private var isPreview = false
    /// The last of the user's own messages that all other members have received and read. These marks only increase.
    private var delivered: Int64 = 0
    private var read: Int64 = 0
    private var members: [ChatConversation.Member] = []

    /// Messages, by their numbers.
    enum Touched: Equatable {
        case all
        case some(Set<Int64>)
    }

    init(id: String, own: String = "") {
        self.id = id
        self.own = own
    }

    /// The complete range, and the last change that its messages have.
    struct KnownRange: Codable, Equatable {
        var first: Int64
        var oldest: Int64
        var through: Int64
        var version: Int64
    }

    /// The messages of an earlier process.
    init(id: String, own: String, kept: (range: KnownRange, messages: [Message])) {
        self.init(id: id, own: own)
        isStale = true
        for message in kept.messages { add(message, message.sequence!) }
        (first, oldest, through) = (kept.range.first, kept.range.oldest, kept.range.through)
        version = kept.range.version
    }

    /// The newest message, as the list of conversations has it.
    init(id: String, own: String, preview: Message?) {
        self.init(id: id, own: own)
        guard let preview, let number = preview.sequence else { return }
        (isStale, isPreview) = (true, true)
        add(preview, number)
        (oldest, through) = (number, number)
    }

    /// The newest messages of the complete range, to be kept on the device; `nil` if there are none.
    func kept(most: Int) -> (range: KnownRange, messages: [Message])? {
        guard let oldest, let version else { return nil }
        let begin = max(oldest, through - Int64(most) + 1)
        guard begin <= through else { return nil }
        let range = KnownRange(first: first, oldest: begin, through: through, version: version)
        return (range, (begin...through).map { messages[$0]! })
    }

    /// The position from which the next connection continues.
    var cursor: Ask.Cursor {
        oldest == nil || isPreview
            ? Ask.Cursor(id: id) : Ask.Cursor(id: id, after: through, messagesVersion: version)
    }

    /// Whether the server has messages before the known ones.
    var hasEarlier: Bool { oldest.map { $0 > first } ?? true }

    /// The newest known message.
    var newest: Int64 { max(through, numbers.last ?? 0) }

    /// The number of a shown message.
    func number(of id: String) -> Int64? {
        guard let oldest, let number = ids[id], number >= oldest else { return nil }
        return number
    }

    // MARK: Input

    /// There is a new connection, on which nothing was received yet.
    mutating func begin() {
        isLive = false
        earlyVersion = nil
    }

    /// The reply to the subscription of the current connection is complete.
    mutating func answered(_ parts: [Wire.Followed]) {
        let news = parts.flatMap { $0.messages ?? [] }
        let last = parts.compactMap(\.last).max() ?? news.map(\.seq).max() ?? 0
        first = parts.compactMap(\.first).max() ?? first
        if oldest == nil || isPreview || parts.contains(where: { $0.reset == true }) {
            // Kept: messages that were received after the server had made the reply, which lacks them.
            let begin = news.map(\.seq).min() ?? last + 1
            messages = messages.filter { $0.key >= begin }
            numbers.removeAll { $0 < begin }
            ids = ids.filter { $0.value >= begin }
            oldest = begin
            through = begin - 1
        }
        touched = .all
        for message in news { hold(message) }
        dropExpired()
        extend()
        version = (parts.compactMap(\.messagesVersion) + [earlyVersion].compactMap(\.self)).max() ?? version
        earlyVersion = nil
        isLive = true
        (isStale, isPreview) = (false, false)
    }

    /// A `message` event.
    mutating func heard(_ message: Wire.Message, version newer: Int64?) {
        hold(message)
        extend()
        guard let newer else { return }
        if isLive { version = max(version ?? newer, newer) } else { earlyVersion = max(earlyVersion ?? newer, newer) }
    }

    /// A message in a reply: sent, edited, deleted.
    mutating func apply(_ message: Wire.Message) {
        hold(message)
        extend()
    }

    /// A page of messages before `oldest`.
    mutating func apply(_ page: Wire.Page) {
        first = page.first
        guard let former = oldest else { return }
        touched = .all
        for message in page.messages where message.seq < former { hold(message, isOlder: true) }
        var begin = former
        while begin > first, messages[begin - 1] != nil { begin -= 1 }
        oldest = begin
        // An empty page: there are no earlier messages.
        if page.messages.isEmpty { first = max(first, begin) }
    }

    /// Drops the messages that the server no longer has.
    private mutating func dropExpired() {
        guard let oldest, oldest < first else { return }
        messages = messages.filter { $0.key >= first }
        numbers.removeAll { $0 < first }
        ids = ids.filter { $0.value >= first }
        self.oldest = first
        through = max(through, first - 1)
    }

    private mutating func hold(_ wire: Wire.Message, isOlder: Bool = false) {
        // Earlier messages are loaded with their page.
        if let oldest, wire.seq < oldest, !isOlder { return }
        let held = messages[wire.seq]
        if let held, held.version >= wire.version { return }
        var message = Message(wire, in: id)
        if let held { (message.status, message.statusUpdatedAt) = (held.status, held.statusUpdatedAt) }
        add(message, wire.seq)
        touch(numbers: [wire.seq])
    }

    private mutating func add(_ message: Message, _ number: Int64) {
        if messages.updateValue(message, forKey: number) == nil {
            numbers.insert(number, at: numbers.index(after: number))
        }
        ids[message.id] = number
    }

    private mutating func touch(numbers changed: some Sequence<Int64>) {
        guard case .some(var all) = touched else { return }
        // Moved, not copied.
        touched = .all
        all.formUnion(changed)
        touched = .some(all)
    }

    private mutating func extend() {
        guard oldest != nil else { return }
        while messages[through + 1] != nil { through += 1 }
    }

    // MARK: Marks

    /// Applies the members' marks.
    mutating func mark(_ members: [ChatConversation.Member]) {
        let former = (members: self.members, delivered: delivered, read: read)
        self.members = members
        let others = members.filter { $0.user != own }
        if !others.isEmpty {
            delivered = max(delivered, others.map(\.delivered).min()!)
            let reads = others.compactMap(\.read)
            if reads.count == others.count { read = max(read, reads.min()!) }
        }
        touch(after: former.delivered, through: delivered)
        touch(after: former.read, through: read)
        if members.map(\.user) == former.members.map(\.user) {
            for (old, new) in zip(former.members, members) where old.read != new.read {
                touch(after: min(old.read ?? 0, new.read ?? 0), through: max(old.read ?? 0, new.read ?? 0))
            }
        } else {
            touch(after: 0, through: (former.members + members).compactMap(\.read).max() ?? 0)
        }
    }

    /// The messages behind one mark, up to another.
    private mutating func touch(after begin: Int64, through end: Int64) {
        guard begin < end else { return }
        touch(numbers: numbers[numbers.index(after: begin)..<numbers.index(after: end)])
    }

    // MARK: Values

    /// Returns the messages whose values may differ from those shown before.
    mutating func takeTouched() -> Touched {
        defer { touched = .some([]) }
        return touched
    }

    /// The messages, oldest first, with the status of each.
    mutating func shown(at date: Date) -> [Message] {
        guard let oldest else { return [] }
        return numbers[numbers.index(after: oldest - 1)...].map { shown($0, at: date)! }
    }

    /// A message with its status; `nil` if it is not shown.
    mutating func shown(_ number: Int64, at date: Date) -> Message? {
        guard let oldest, number >= oldest, let held = messages[number] else { return nil }
        let status: MessageStatus =
            held.senderId == own
            ? (number <= read ? .read : number <= delivered ? .delivered : .sent)
            : (number <= members.first { $0.user == own }?.read ?? 0 ? .read : .delivered)
        messages[number]!.advance(to: status, at: date)
        var message = messages[number]!
        message.readBy = members.filter {
            $0.user != own && $0.user != message.senderId && ($0.read ?? 0) >= number
        }.map(\.user)
        return message
    }
}

extension [Int64] {
    /// The index of the first number behind another, in an ordered array.
    fileprivate func index(after number: Int64) -> Int {
        // Most often that is the end.
        if last ?? .min <= number { return count }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] <= number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

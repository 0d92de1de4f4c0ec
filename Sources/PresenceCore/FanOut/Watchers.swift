import PresenceProtocol
import Redis
import WebSockets

/// The watched topics, the connections that watch them, and what each has pending.
///
/// A change replaces the topic's register and enters the turn. At the end of the turn each change is laid out once, and
/// every connection that watches the topic is marked with the change's number; then each marked connection's data is
/// written. A connection that accepts no more keeps the topics' numbers instead, each once, and later gets only the
/// newest state of each: that is the whole policy for slow consumers. (A topic with a log has no newest state:
/// `Watchers+Logs.swift`.) Marks and watches are numbers, not references: this path has no reference counting.
package final class Watchers {
    private(set) var topics: [Topic?] = []
    private var freeTopics: [UInt32] = []
    private var people = SubjectTable()
    /// The tables of the other kinds of topics, at the kind's number less one.
    private var others: [SubjectTable] = []
    private var kinds: [any TopicKind] = []
    private var orders: UInt64 = 0
    /// Connections by the index of their socket.
    package private(set) var connections: [Connection?] = []
    /// The memory of all topics' logs.
    let logs = LogMemory()
    /// Lines, by the index of their socket.
    var lines: [Line] = []
    var merger = KeptMerger()
    /// Indices of connections that have something to write at the end of the turn.
    var dirty: [UInt32] = []
    /// The previous turn's array, reused for the next one.
    var emptied: [UInt32] = []
    private(set) var turn = Turn()
    /// The number of watches of all connections.
    var subscriptionCount = 0
    private let metrics: Metrics
    /// Called for a person whose last watcher left.
    var onDiscard: (UserID) -> Void = { _ in }

    /// Called for each topic that is made, of any kind, and for each that is discarded.
    var onMake: (Identifier) -> Void = { _ in }
    var onGone: (Identifier) -> Void = { _ in }

    /// Called for a log if a watcher has entries of it that have not arrived here.
    var onAhead: (Topic) -> Void = { _ in }

    init(metrics: Metrics) { self.metrics = metrics }

    /// Called once, before anything is watched.
    func register(_ kinds: [any TopicKind]) {
        self.kinds = kinds
        others = kinds.map { _ in SubjectTable() }
    }

    package func kind(of topic: Topic) -> (any TopicKind)? {
        topic.kind == .person ? nil : kinds[Int(topic.kind.rawValue) - 1]
    }

    // MARK: Connections

    func add(_ connection: Connection) {
        let index = connection.index
        while connections.count <= index {
            connections.append(nil)
            lines.append(Line())
        }
        connections[index] = connection
        lines[index] = Line(generation: connection.socket.generation, flags: .open)
    }

    func remove(_ connection: Connection) {
        // Nothing is written to the connection any more. Without kept changes, no removal of a watch searches them.
        lines[connection.index].turn = 0..<0
        lines[connection.index].kept = []
        while let last = lines[connection.index].subscriptions.indices.last { remove(last, of: connection.index) }
        connections[connection.index] = nil
        lines[connection.index] = Line()
    }

    /// Prevents further marks on the connection.
    func close(_ connection: Connection) {
        connection.isClosed = true
        lines[connection.index].flags.remove(.open)
        // It must not keep numbers of a turn that ends without it.
        lines[connection.index].turn = 0..<0
    }

    package subscript(_ socket: SocketID) -> Connection? {
        guard Int(socket.index) < connections.count, let connection = connections[Int(socket.index)],
            connection.socket == socket
        else { return nil }
        return connection
    }

    /// The connection itself has something to be written, for example messages to the user's own connections.
    package func markMail(_ connection: Connection, _ messages: OwnMessages = []) {
        guard !connection.isClosed else { return }
        connection.ownMessages.formUnion(messages)
        lines[connection.index].flags.insert(.mail)
        markDirty(connection.index)
    }

    /// Sets a flag of a line. While a line has one of the flags that `keeps` checks, changes wait: the client is in the
    /// background, accepts no more, or the view of its user is not known yet.
    func set(_ flag: Line.Flags, _ isSet: Bool, on connection: Connection) {
        let index = connection.index
        if isSet {
            // Changes that are not written yet have to wait.
            keepTurn(of: index)
            lines[index].flags.insert(flag)
        } else if lines[index].flags.remove(flag) != nil {
            markDirty(index)
        }
    }

    func markDirty(_ index: Int) {
        guard lines[index].flags.isDisjoint(with: .dirty), lines[index].flags.contains(.open) else { return }
        lines[index].flags.insert(.dirty)
        dirty.append(UInt32(index))
    }

    // MARK: Topics

    package func person(_ user: UserID) -> Topic? { user.withBytes { person($0) } }
    package func topic(_ id: Identifier, _ kind: TopicKindID) -> Topic? { id.withBytes { topic($0, kind) } }
    package func person(_ id: UnsafeRawBufferPointer) -> Topic? { find(id, people) }
    package func topic(_ id: UnsafeRawBufferPointer, _ kind: TopicKindID) -> Topic? {
        find(id, others[Int(kind.rawValue) - 1])
    }

    private func find(_ id: UnsafeRawBufferPointer, _ table: borrowing SubjectTable) -> Topic? {
        table.find(id) { topics[Int($0)]!.subject.has(id) }.flatMap { topics[Int($0)] }
    }

    package func topic(_ index: UInt32) -> Topic? { Int(index) < topics.count ? topics[Int(index)] : nil }

    /// The topic, made if it does not exist, held until `release`.
    package func hold(person user: UserID) -> Topic {
        let topic = person(user) ?? make(user, .person)
        topic.holds += 1
        return topic
    }

    package func hold(_ id: Identifier, _ kind: TopicKindID) -> Topic {
        let topic = topic(id, kind) ?? make(id, kind)
        topic.holds += 1
        return topic
    }

    package func release(_ topic: Topic) {
        topic.holds -= 1
        discardIfUnused(topic)
    }

    private func make(_ subject: Identifier, _ kind: TopicKindID) -> Topic {
        let topic = place(subject, kind)
        if kind == .person {
            subject.withBytes { people.insert(topic.index, $0) }
        } else {
            topic.state = kinds[Int(kind.rawValue) - 1].makeState()
            if kinds[Int(kind.rawValue) - 1].keepsLog { topic.log = TopicLog(logs) }
            subject.withBytes { others[Int(kind.rawValue) - 1].insert(topic.index, $0) }
        }
        onMake(subject)
        return topic
    }

    private func place(_ subject: Identifier, _ kind: TopicKindID) -> Topic {
        let index = freeTopics.popLast() ?? UInt32(topics.count)
        let topic = Topic(subject: subject, kind: kind, index: index)
        if Int(index) == topics.count { topics.append(topic) } else { topics[Int(index)] = topic }
        return topic
    }

    /// Makes a topic for some of another topic's watchers. It is in no table, and holds the whole.
    func makePart(of whole: Topic) -> Topic {
        let part = place(whole.subject, whole.kind)
        if whole.log != nil { part.log = TopicLog(logs) }
        part.whole = whole
        whole.holds += 1
        return part
    }

    func discardIfUnused(_ topic: Topic) {
        guard topic.holds == 0, topic.watchers.isEmpty else { return }
        topics[Int(topic.index)] = nil
        topic.log?.discard()
        freeTopics.append(topic.index)
        if let whole = topic.whole {
            if whole.limited === topic { whole.limited = nil }
            if whole.hidden === topic { whole.hidden = nil }
            if whole.paused === topic { whole.paused = nil }
            topic.whole = nil
            release(whole)
        } else if topic.kind != .person {
            topic.subject.withBytes { others[Int(topic.kind.rawValue) - 1].remove(topic.index, $0) }
            onGone(topic.subject)
        } else {
            topic.subject.withBytes { people.remove(topic.index, $0) }
            onDiscard(topic.subject)
            onGone(topic.subject)
        }
    }

    // MARK: Changes

    /// Replaces a topic's register. `announced`: every watcher receives it as a change.
    package func set(_ register: Register, _ marks: Marks, on topic: Topic, announced: Bool) {
        orders += 1
        var register = register
        register.order = orders
        if marks == .first { topic.first = register } else { topic.second = register }
        guard announced, !topic.watchers.isEmpty else { return }
        assert(topic.log == nil, "a topic with a log has entries, not registers")
        enter(topic)
        if topic.changed.contains(marks) { metrics.conflated += topic.watchers.count }
        topic.changed.formUnion(marks)
    }

    /// Adds a change of the topic to the turn.
    func enter(_ topic: Topic) {
        metrics.marked += topic.watchers.count
        if topic.changed.isEmpty { turn.add(topic.index) }
    }

    /// Lays out this turn's changes and marks the watchers. Called at the end of the turn, or during the turn when a
    /// watcher subscribes to a topic that has already changed in it.
    func markWatchers() {
        while let index = turn.next {
            let topic = topics[Int(index)]
            let number = turn.layOut(topic)
            guard let topic, !turn.changes[Int(number)].marks.isEmpty else { continue }
            if let log = topic.log { mark(log, of: topic, number) } else { mark(topic, number) }
        }
    }

    private func mark(_ topic: Topic, _ number: UInt32) {
        let marks = turn.changes[Int(number)].marks
        // Unsafe only because the release build does not check indices: they are valid by construction, and nothing
        // else changes either array during the loop.
        lines.withUnsafeMutableBufferPointer { lines in
            topic.watchers.withUnsafeBufferPointer { watchers in
                for watch in watchers {
                    let index = Int(watch.connection)
                    guard lines[index].flags.contains(.open) else { continue }
                    if lines[index].keeps {
                        metrics.conflated += lines[index].keep(topic.index, marks, &merger)
                    } else if lines[index].turn.isEmpty {
                        lines[index].turn = number..<number + 1
                    } else if lines[index].turn.upperBound == number {
                        lines[index].turn = lines[index].turn.lowerBound..<number + 1
                    } else {
                        // A gap: this connection's changes are assembled one by one.
                        keepTurn(of: &lines[index], watch.connection)
                        metrics.conflated += lines[index].keep(topic.index, marks, &merger)
                    }
                    if lines[index].flags.isDisjoint(with: .dirty) {
                        lines[index].flags.insert(.dirty)
                        dirty.append(watch.connection)
                    }
                }
            }
        }
    }

    func keepTurn(of index: Int) { keepTurn(of: &lines[index], UInt32(index)) }

    /// Keeps changes of this turn that could not be written to the connection.
    func keep(_ run: Range<UInt32>, _ index: Int) {
        lines[index].turn = run
        keepTurn(of: index)
    }

    /// Moves a line's run of this turn to its kept changes.
    func keepTurn(of line: inout Line, _ connection: UInt32) {
        for number in line.turn {
            let change = turn.changes[Int(number)]
            guard !change.isLog else {
                keep(change.topic, after: change.after, of: &line, connection)
                continue
            }
            metrics.conflated += line.keep(change.topic, change.marks, &merger)
        }
        line.turn = 0..<0
    }

    /// All connections have been written to.
    func endTurn() {
        turn.clear()
        logs.trim()
    }
}

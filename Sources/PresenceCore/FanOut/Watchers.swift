import PresenceProtocol
import Redis
import WebSockets

/// Who hears what: topics, the connections that watch them, and what each has still to be written.
///
/// A change replaces the topic's register and enters the turn. When the turn ends, each change is laid out once and
/// every connection that watches is marked with its number; then each marked connection is written what it has. One
/// that cannot take more keeps the topics' numbers instead, each once, and later gets only the newest of each: that is
/// the whole policy for slow consumers. Marks and watches are numbers, not references: nothing is counted on this path.
package final class Watchers {
    private(set) var topics: [Topic?] = []
    private var freeTopics: [UInt32] = []
    private var people = SubjectTable()
    /// Of the other kinds, by their numbers less one.
    private var others: [SubjectTable] = []
    private var kinds: [any TopicKind] = []
    private var orders: UInt64 = 0
    /// Connections by the index of their socket.
    package private(set) var connections: [Connection?] = []
    /// Their lines, by the same index.
    var lines: [Line] = []
    var merger = KeptMerger()
    /// Indices of connections that have something to write when the turn ends.
    private(set) var dirty: [UInt32] = []
    private(set) var turn = Turn()
    /// Watches over all connections.
    private(set) var subscriptionCount = 0
    private let metrics: Metrics
    /// Told of a person without watchers left.
    var onDiscard: (UserID) -> Void = { _ in }

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
        // Nothing is written to it any more: otherwise each of its watches would be looked for in what is kept.
        lines[connection.index].turn = 0..<0
        lines[connection.index].kept = []
        while let last = lines[connection.index].subscriptions.indices.last { remove(last, of: connection.index) }
        connections[connection.index] = nil
        lines[connection.index] = Line()
    }

    /// Nothing is marked on it any more.
    func close(_ connection: Connection) {
        connection.isClosed = true
        lines[connection.index].flags.remove(.open)
    }

    package subscript(_ socket: SocketID) -> Connection? {
        guard Int(socket.index) < connections.count, let connection = connections[Int(socket.index)],
            connection.socket == socket
        else { return nil }
        return connection
    }

    /// The connection itself holds something to be written.
    package func markMail(_ connection: Connection) {
        guard !connection.isClosed else { return }
        lines[connection.index].flags.insert(.mail)
        markDirty(connection.index)
    }

    /// Whether its events are held back.
    func setBackground(_ isInBackground: Bool, _ connection: Connection) {
        let index = connection.index
        if isInBackground {
            // What has not been written by now waits.
            keepTurn(of: index)
            lines[index].flags.insert(.background)
        } else if lines[index].flags.remove(.background) != nil {
            markDirty(index)
        }
    }

    /// Whether its events wait until it is known what its user may see.
    func setWithheld(_ isWithheld: Bool, _ connection: Connection) {
        let index = connection.index
        if isWithheld {
            keepTurn(of: index)
            lines[index].flags.insert(.withheld)
        } else if lines[index].flags.remove(.withheld) != nil {
            markDirty(index)
        }
    }

    func setCongested(_ isCongested: Bool, _ connection: Connection) {
        let index = connection.index
        if isCongested {
            keepTurn(of: index)
            lines[index].flags.insert(.congested)
        } else if lines[index].flags.remove(.congested) != nil {
            markDirty(index)
        }
    }

    func markDirty(_ index: Int) {
        guard lines[index].flags.isDisjoint(with: .dirty), lines[index].flags.contains(.open) else { return }
        lines[index].flags.insert(.dirty)
        dirty.append(UInt32(index))
    }

    /// Hands over the connections to write to; what is marked meanwhile goes into the next round.
    func takeDirty() -> [UInt32] {
        let taken = dirty
        dirty.removeAll(keepingCapacity: true)
        return taken
    }

    /// What a connection that was taken is to be written now.
    func takeDue(_ index: UInt32) -> Line.Due { lines[Int(index)].takeDue() }

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

    /// The topic, made if nobody watches it yet, kept until `release`.
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
            subject.withBytes { others[Int(kind.rawValue) - 1].insert(topic.index, $0) }
        }
        return topic
    }

    private func place(_ subject: Identifier, _ kind: TopicKindID) -> Topic {
        let index = freeTopics.popLast() ?? UInt32(topics.count)
        let topic = Topic(subject: subject, kind: kind, index: index)
        if Int(index) == topics.count { topics.append(topic) } else { topics[Int(index)] = topic }
        return topic
    }

    /// A topic for some of a person's watchers. It is in no table, and keeps the person.
    func makePart(of person: Topic) -> Topic {
        let part = place(person.subject, .person)
        part.whole = person
        person.holds += 1
        return part
    }

    private func discardIfUnused(_ topic: Topic) {
        guard topic.holds == 0, topic.watchers.isEmpty else { return }
        topics[Int(topic.index)] = nil
        freeTopics.append(topic.index)
        if topic.kind != .person {
            topic.subject.withBytes { others[Int(topic.kind.rawValue) - 1].remove(topic.index, $0) }
        } else if let person = topic.whole {
            if person.limited === topic { person.limited = nil } else { person.hidden = nil }
            topic.whole = nil
            release(person)
        } else {
            topic.subject.withBytes { people.remove(topic.index, $0) }
            onDiscard(topic.subject)
        }
    }

    // MARK: Watching

    package func subscriptions(of connection: Connection) -> Int { lines[connection.index].subscriptions.count }

    /// How many of `topics` the connection does not watch yet.
    package func unwatched(_ wanted: [Topic], by connection: Connection) -> Int {
        let isWatched = lookUp(connection, for: wanted.count)
        return wanted.count {
            !isWatched($0) && !($0.limited.map(isWatched) ?? false) && !($0.hidden.map(isWatched) ?? false)
        }
    }

    /// From now on the connection hears of every change of these topics.
    package func subscribe(_ connection: Connection, to wanted: [Topic]) {
        let index = connection.index
        let isWatched = lookUp(connection, for: wanted.count)
        // What changed before is in the snapshot.
        if wanted.contains(where: { !$0.changed.isEmpty }) { markWatchers() }
        // So is what waits for a client that asks again about topics it watches.
        if !lines[index].turn.isEmpty || !lines[index].kept.isEmpty {
            keepTurn(of: index)
            let answered = Set(wanted.map(\.index))
            lines[index].kept.removeAll { answered.contains($0.topic) }
        }
        lines[index].subscriptions.reserveCapacity(lines[index].subscriptions.count + wanted.count)
        for topic in wanted where !isWatched(topic) { append(topic, to: index) }
    }

    /// Both sides of a new watch.
    func append(_ topic: Topic, to index: Int) {
        let place = UInt32(topic.watchers.count)
        let position = UInt32(lines[index].subscriptions.count)
        topic.watchers.appendSparingly(.init(connection: UInt32(index), position: position))
        lines[index].subscriptions.append(.init(topic: topic.index, place: place))
        subscriptionCount += 1
    }

    /// Tells whether the connection watches a topic, for so many questions.
    private func lookUp(_ connection: Connection, for questions: Int) -> (Topic) -> Bool {
        let watched = lines[connection.index].subscriptions
        if watched.isEmpty { return { _ in false } }
        // Many are checked against a set; building one for a few would cost more than looking.
        guard questions > 8 else { return { [self] in position(of: $0, in: connection.index) != nil } }
        let set = Set(watched.map(\.topic))
        return { set.contains($0.index) }
    }

    package func unsubscribe(_ connection: Connection, from topic: Topic) {
        guard let position = place(of: topic, in: connection) else { return }
        remove(position, of: connection.index)
    }

    /// The same for many, in one walk over what the connection watches.
    package func unsubscribe(_ connection: Connection, from unwanted: [Topic]) {
        guard unwanted.count > 8 else { return unwanted.forEach { unsubscribe(connection, from: $0) } }
        let index = connection.index
        let parts = Set(unwanted.flatMap { [$0.index, $0.limited?.index, $0.hidden?.index].compactMap { $0 } })
        keepTurn(of: index)
        lines[index].kept.removeAll { parts.contains($0.topic) }
        let kept = lines[index].kept
        lines[index].kept = []
        // From the end: what takes a place that becomes free has been looked at.
        for position in lines[index].subscriptions.indices.reversed()
        where parts.contains(lines[index].subscriptions[position].topic) {
            remove(position, of: index)
        }
        lines[index].kept = kept
    }

    func position(of topic: Topic, in index: Int) -> Int? {
        // Whichever side has fewer to look through.
        if topic.watchers.count < lines[index].subscriptions.count {
            return topic.watchers.first { $0.connection == index }.map { Int($0.position) }
        }
        return lines[index].subscriptions.firstIndex { $0.topic == topic.index }
    }

    /// Both sides keep dense arrays: the last entry moves into the gap, and its other side is told where it is now.
    func remove(_ position: Int, of index: Int) {
        let removed = lines[index].subscriptions[position]
        let topic = topics[Int(removed.topic)]!

        let lastWatch = topic.watchers.removeLast()
        if Int(removed.place) < topic.watchers.count {
            topic.watchers[Int(removed.place)] = lastWatch
            lines[Int(lastWatch.connection)].subscriptions[Int(lastWatch.position)].place = removed.place
        }
        let moved = lines[index].subscriptions.removeLast()
        if position < lines[index].subscriptions.count {
            lines[index].subscriptions[position] = moved
            topics[Int(moved.topic)]!.watchers[Int(moved.place)].position = UInt32(position)
        }
        // What it was to be written of this topic, it is not written any more.
        keepTurn(of: index)
        if !lines[index].kept.isEmpty { lines[index].kept.removeAll { $0.topic == removed.topic } }
        subscriptionCount -= 1
        discardIfUnused(topic)
    }

    // MARK: Changes

    /// Replaces a topic's register. `announced`: as a change that every watcher is to hear of.
    package func set(_ register: Register, _ marks: Marks, on topic: Topic, announced: Bool) {
        orders += 1
        var register = register
        register.order = orders
        if marks == .first { topic.first = register } else { topic.second = register }
        guard announced, !topic.watchers.isEmpty else { return }
        metrics.marked += topic.watchers.count
        if topic.changed.isEmpty { turn.add(topic.index) }
        if topic.changed.contains(marks) { metrics.conflated += topic.watchers.count }
        topic.changed.formUnion(marks)
    }

    /// Lays out this turn's changes and marks those who watch. At the end of the turn; before, only if somebody begins
    /// to watch what has changed in it.
    func markWatchers() {
        while let index = turn.next {
            let topic = topics[Int(index)]
            let number = turn.layOut(topic)
            if let topic, !turn.changes[Int(number)].marks.isEmpty { mark(topic, number) }
        }
    }

    private func mark(_ topic: Topic, _ number: UInt32) {
        let marks = turn.changes[Int(number)].marks
        // Unsafe only in that indices are not checked in the release build: they are ours, and neither array is
        // changed by anything else meanwhile.
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
                        // A gap: this connection's changes are put together one by one.
                        keepTurn(of: &lines[index])
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

    func keepTurn(of index: Int) { keepTurn(of: &lines[index]) }

    /// Changes of this turn that the connection could not be written wait for it.
    func keep(_ run: Range<UInt32>, _ index: Int) {
        lines[index].turn = run
        keepTurn(of: index)
    }

    /// Moves a line's run of this turn to what it keeps.
    private func keepTurn(of line: inout Line) {
        for number in line.turn {
            let change = turn.changes[Int(number)]
            metrics.conflated += line.keep(change.topic, change.marks, &merger)
        }
        line.turn = 0..<0
    }

    /// Everyone has been written to.
    func endTurn() { turn.clear() }
}

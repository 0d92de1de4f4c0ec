import PresenceProtocol
import Redis
import WebSockets

/// Who hears what: topics, the connections that watch them, and the marks of what each has still to be sent.
///
/// A change replaces the topic's register and sets a mark on every watching connection; what is written at the end of
/// the turn is whatever the register holds then. So a connection that cannot take more keeps a bounded number of
/// marks, and later gets only the newest of each: that is the whole policy for slow consumers.
/// Marks and watches are indices, not references: nothing is counted on this path.
final class Watchers {
    private(set) var topics: [Topic?] = []
    private var freeTopics: [UInt32] = []
    private var people: [UserID: UInt32] = [:]
    private var conversations: [ConversationID: UInt32] = [:]
    private var orders: UInt64 = 0
    /// Connections by the index of their socket.
    private(set) var connections: [Connection?] = []
    /// Indices of connections that have something to write when the turn ends.
    private(set) var dirty: [UInt32] = []
    /// Watches over all connections.
    private(set) var subscriptionCount = 0
    private let metrics: Metrics

    init(metrics: Metrics) { self.metrics = metrics }

    // MARK: Connections

    func add(_ connection: Connection) {
        let index = Int(connection.socket.index)
        while connections.count <= index { connections.append(nil) }
        connections[index] = connection
    }

    func remove(_ connection: Connection) {
        unsubscribeAll(connection)
        connections[Int(connection.socket.index)] = nil
    }

    subscript(_ socket: SocketID) -> Connection? {
        guard Int(socket.index) < connections.count, let connection = connections[Int(socket.index)],
            connection.socket == socket
        else { return nil }
        return connection
    }

    func markDirty(_ connection: Connection) {
        guard !connection.isDirty, !connection.isClosed else { return }
        connection.isDirty = true
        dirty.append(connection.socket.index)
    }

    /// Hands over the connections to write to; marks set meanwhile go into the next round.
    func takeDirty() -> [UInt32] {
        let taken = dirty
        dirty.removeAll(keepingCapacity: true)
        return taken
    }

    // MARK: Topics

    func person(_ user: UserID) -> Topic? { people[user].flatMap { topics[Int($0)] } }
    func conversation(_ id: ConversationID) -> Topic? { conversations[id].flatMap { topics[Int($0)] } }
    func topic(_ index: UInt32) -> Topic? { Int(index) < topics.count ? topics[Int(index)] : nil }

    /// The topic, made if nobody watches it yet, kept until `release`.
    func hold(person user: UserID) -> Topic {
        let topic = person(user) ?? make(user, isConversation: false)
        topic.holds += 1
        return topic
    }

    func hold(conversation id: ConversationID) -> Topic {
        let topic = conversation(id) ?? make(id, isConversation: true)
        topic.holds += 1
        return topic
    }

    func release(_ topic: Topic) {
        topic.holds -= 1
        discardIfUnused(topic)
    }

    private func make(_ subject: Identifier, isConversation: Bool) -> Topic {
        let index = freeTopics.popLast() ?? UInt32(topics.count)
        let topic = Topic(subject: subject, isConversation: isConversation, index: index)
        if Int(index) == topics.count { topics.append(topic) } else { topics[Int(index)] = topic }
        if isConversation {
            topic.conversation = ConversationState()
            conversations[subject] = index
        } else {
            people[subject] = index
        }
        return topic
    }

    private func discardIfUnused(_ topic: Topic) {
        guard topic.holds == 0, topic.watchers.isEmpty else { return }
        topics[Int(topic.index)] = nil
        freeTopics.append(topic.index)
        if topic.isConversation {
            conversations[topic.subject] = nil
        } else {
            people[topic.subject] = nil
        }
    }

    // MARK: Watching

    func isSubscribed(_ connection: Connection, to topic: Topic) -> Bool {
        position(of: topic, in: connection) != nil
    }

    /// How many of `topics` the connection does not watch yet.
    func unwatched(_ wanted: [Topic], by connection: Connection) -> Int {
        // A long list is checked against a set; building one for a short list would cost more than looking.
        guard wanted.count > 8, !connection.subscriptions.isEmpty else {
            return wanted.count { !isSubscribed(connection, to: $0) }
        }
        let watched = Set(connection.subscriptions.map(\.topic))
        return wanted.count { !watched.contains($0.index) }
    }

    /// From now on every change of the topic is marked on the connection.
    func subscribe(_ connection: Connection, to wanted: [Topic]) {
        let watched: Set<UInt32>? =
            wanted.count > 8 && !connection.subscriptions.isEmpty ? Set(connection.subscriptions.map(\.topic)) : nil
        for topic in wanted {
            if let watched {
                if watched.contains(topic.index) { continue }
            } else if isSubscribed(connection, to: topic) {
                continue
            }
            let place = UInt32(topic.watchers.count)
            let position = UInt32(connection.subscriptions.count)
            topic.watchers.append(.init(connection: connection.socket.index, position: position))
            connection.subscriptions.append(.init(topic: topic.index, place: place, marks: []))
            subscriptionCount += 1
        }
    }

    func unsubscribe(_ connection: Connection, from topic: Topic) {
        guard let position = position(of: topic, in: connection) else { return }
        remove(position, of: connection)
    }

    private func unsubscribeAll(_ connection: Connection) {
        connection.pending.removeAll()
        while !connection.subscriptions.isEmpty { remove(connection.subscriptions.count - 1, of: connection) }
    }

    private func position(of topic: Topic, in connection: Connection) -> Int? {
        // Whichever side has fewer to look through.
        if topic.watchers.count < connection.subscriptions.count {
            let index = connection.socket.index
            return topic.watchers.first { $0.connection == index }.map { Int($0.position) }
        }
        return connection.subscriptions.firstIndex { $0.topic == topic.index }
    }

    /// Both sides keep dense arrays: the last entry moves into the gap, and its other side is told where it is now.
    private func remove(_ position: Int, of connection: Connection) {
        let removed = connection.subscriptions[position]
        let topic = topics[Int(removed.topic)]!

        let lastWatch = topic.watchers.removeLast()
        if Int(removed.place) < topic.watchers.count {
            topic.watchers[Int(removed.place)] = lastWatch
            connections[Int(lastWatch.connection)]!.subscriptions[Int(lastWatch.position)].place = removed.place
        }

        let lastPosition = connection.subscriptions.count - 1
        let moved = connection.subscriptions.removeLast()
        if position < lastPosition {
            connection.subscriptions[position] = moved
            topics[Int(moved.topic)]!.watchers[Int(moved.place)].position = UInt32(position)
        }
        if !connection.pending.isEmpty {
            connection.pending = connection.pending.compactMap { pending in
                if Int(pending) == position { return nil }
                return Int(pending) == lastPosition ? UInt32(position) : pending
            }
        }
        subscriptionCount -= 1
        discardIfUnused(topic)
    }

    // MARK: Changes

    /// Replaces a topic's register. `announced`: as a change that every watcher is to hear of.
    func set(_ register: Register, _ marks: Connection.Marks, on topic: Topic, announced: Bool) {
        orders += 1
        var register = register
        register.order = orders
        if marks == .first { topic.first = register } else { topic.second = register }
        guard announced else { return }
        metrics.marked += topic.watchers.count
        for watch in topic.watchers {
            let connection = connections[Int(watch.connection)]!
            let position = Int(watch.position)
            let held = connection.subscriptions[position].marks
            if held.contains(marks) {
                metrics.conflated += 1
            } else {
                connection.subscriptions[position].marks = held.union(marks)
                if held.isEmpty { connection.pending.append(watch.position) }
            }
            markDirty(connection)
        }
    }
}

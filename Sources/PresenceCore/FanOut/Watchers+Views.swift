import PresenceProtocol

/// The topics of one person, one for each view: everything, everything except last seen, nothing.
///
///     person  ◀─whole─  limited   follows the person; offline looks as if nothing were known
///             ◀─whole─  hidden    never changes
///
/// The parts are made when they are needed, and discarded with their last watcher; only the person is in the table. For
/// marking and writing they are ordinary topics, so a person without restrictions causes no extra cost.
extension Watchers {
    func limited(of person: Topic) -> Topic {
        if let limited = person.limited { return limited }
        let limited = makePart(of: person)
        limited.first = person.first.isOffline ? Register() : person.first
        limited.second = person.second
        person.limited = limited
        return limited
    }

    func hidden(of person: Topic) -> Topic {
        if let hidden = person.hidden { return hidden }
        let hidden = makePart(of: person)
        person.hidden = hidden
        return hidden
    }

    /// A register of the person has changed: updates the view of watchers who may not see when they were last seen.
    func setLimited(_ register: Register, _ kind: RegisterKind, on limited: Topic, at: Timestamp) {
        guard kind == .presence, register.isOffline else {
            return set(register, kind.mark, on: limited, announced: true)
        }
        guard limited.first.version != 0 else { return }
        set(RegisterEncoder.unknown(.presence, user: limited.subject, at: at), .first, on: limited, announced: true)
    }

    /// A watcher that is moved now gets the present time, not the time of another watcher's move.
    func refreshUnknown(_ person: Topic, at: Timestamp) {
        for part in [person.limited, person.hidden].compactMap({ $0 }) {
            if part.first.version == 0 {
                part.first = RegisterEncoder.unknown(.presence, user: part.subject, at: at)
            }
            if part.second.version == 0 {
                part.second = RegisterEncoder.unknown(.profile, user: part.subject, at: at)
            }
        }
    }

    /// The index of a topic in a connection's subscriptions, in any of its parts.
    package func place(of topic: Topic, in connection: Connection) -> Int? {
        for part in [topic, topic.limited, topic.hidden, topic.paused] {
            if let part, let position = position(of: part, in: connection.index) { return position }
        }
        return nil
    }

    /// The topic at an index of a connection's subscriptions.
    func watched(_ position: Int, by connection: Connection) -> Topic {
        topics[Int(lines[connection.index].subscriptions[position].topic)]!
    }

    /// Moves a watch to another part of the same person. Differences between the two are sent to the client as events;
    /// pending changes of the old part are dropped.
    package func move(_ position: Int, of index: Int, to part: Topic, at: Timestamp) {
        let left = topics[Int(lines[index].subscriptions[position].topic)]!
        guard left !== part else { return }
        keepTurn(of: index)
        var marks = left.changed
        for entry in lines[index].kept where entry.topic == left.index { marks.formUnion(entry.marks) }
        if left.first.version != part.first.version { marks.insert(.first) }
        if left.second.version != part.second.version { marks.insert(.second) }
        append(part, to: index)
        // After the move, since this may discard the old part, and the person with it.
        remove(position, of: index)
        guard !marks.isEmpty else { return }
        frame(part, marks, at: at)
        _ = lines[index].keep(part.index, marks, &merger)
        markDirty(index)
    }

    /// Moves all of a connection's watches whose part has changed, in one pass over its kept changes; for each watch
    /// the effect is that of `move`.
    func moveAll(of connection: Connection, at: Timestamp, home: (Topic) -> Topic) {
        let index = connection.index
        keepTurn(of: index)
        _ = merger.merge(&lines[index].kept)
        var kept = lines[index].kept
        lines[index].kept = []
        let places = Dictionary(uniqueKeysWithValues: kept.indices.map { (kept[$0].topic, $0) })
        var moved: [Line.Kept] = []
        for position in lines[index].subscriptions.indices.reversed() {
            let part = watched(position, by: connection)
            guard part.kind == .person else { continue }
            let person = part.whole ?? part
            person.holds += 1
            let target = home(part)
            if target !== part {
                refreshUnknown(person, at: at)
                let place = places[part.index]
                move(position, of: index, to: target, at: at)
                var marks = lines[index].kept.popLast()?.marks ?? []
                if let place {
                    marks.formUnion(kept[place].marks)
                    kept[place] = Line.Kept(topic: part.index, marks: [])
                }
                if !marks.isEmpty {
                    frame(target, marks, at: at)
                    moved.append(Line.Kept(topic: target.index, marks: marks))
                }
            }
            release(person)
        }
        lines[index].kept = kept.filter { !$0.marks.isEmpty } + moved
        if !moved.isEmpty { markDirty(index) }
    }

    /// Turns registers that are empty or were read from Redis into events.
    private func frame(_ part: Topic, _ marks: Marks, at: Timestamp) {
        if marks.contains(.first) { part.first.frame(.presence, part.subject, at: at) }
        if marks.contains(.second) { part.second.frame(.profile, part.subject, at: at) }
    }
}

extension Register {
    /// Whether the person is offline: a body from Redis begins with the status.
    package var isOffline: Bool {
        guard version != 0 else { return true }
        let status = Array(#""status":"offline""#.utf8)
        guard let comma = bytes[object].firstIndex(of: UInt8(ascii: ",")) else { return false }
        return bytes[object][(comma + 1)...].starts(with: status)
    }

    /// Adds the event around a register that is only an object, or empty.
    fileprivate mutating func frame(_ kind: RegisterKind, _ user: UserID, at: Timestamp) {
        let framed: Register
        if version == 0 {
            guard bytes.isEmpty else { return }
            framed = RegisterEncoder.unknown(kind, user: user, at: at)
        } else {
            guard object.count == bytes.count else { return }
            framed = RegisterEncoder.event(kind, user: user, object: bytes, version: version, at: at)
        }
        bytes = framed.bytes
        object = framed.object
    }
}

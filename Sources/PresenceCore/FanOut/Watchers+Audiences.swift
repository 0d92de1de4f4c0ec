import PresenceProtocol

/// The topics of one person, one for each view: whole, without when they were last seen, and nothing at all.
///
///     person  ◀─whole─  limited   follows the person; offline is as if nothing were known
///             ◀─whole─  hidden    never changes
///
/// The parts are made when somebody needs them and go with their last watcher; only the person stands in the table. For
/// marking and writing they are topics like any other, so a person who restricts nothing costs nothing more.
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

    /// A register of the person has changed: what those see of it who do not see when they left.
    func setLimited(_ register: Register, _ kind: RegisterKind, on limited: Topic, at: Timestamp) {
        guard kind == .presence, register.isOffline else {
            return set(register, kind.mark, on: limited, announced: true)
        }
        guard limited.first.version != 0 else { return }
        set(RegisterFrame.unknown(.presence, user: limited.subject, at: at), .first, on: limited, announced: true)
    }

    /// A watcher moved now is told this moment, not that of another watcher's move.
    func refreshUnknown(_ person: Topic, at: Timestamp) {
        for part in [person.limited, person.hidden].compactMap({ $0 }) {
            if part.first.version == 0 {
                part.first = RegisterFrame.unknown(.presence, user: part.subject, at: at)
            }
            if part.second.version == 0 {
                part.second = RegisterFrame.unknown(.profile, user: part.subject, at: at)
            }
        }
    }

    /// Where a topic is among a connection's subscriptions, in whichever part.
    package func place(of topic: Topic, in connection: Connection) -> Int? {
        for part in [topic, topic.limited, topic.hidden, topic.paused] {
            if let part, let position = position(of: part, in: connection.index) { return position }
        }
        return nil
    }

    /// The topic at a place among a connection's subscriptions.
    func watched(_ position: Int, by connection: Connection) -> Topic {
        topics[Int(lines[connection.index].subscriptions[position].topic)]!
    }

    /// Moves a watch to another part of the same person. What the client is to hold differently from now on, it is
    /// written as events; what of the old part still waited for it, it is not written any more.
    package func move(_ position: Int, of index: Int, to part: Topic, at: Timestamp) {
        let left = topics[Int(lines[index].subscriptions[position].topic)]!
        guard left !== part else { return }
        keepTurn(of: index)
        var marks = left.changed
        for entry in lines[index].kept where entry.topic == left.index { marks.formUnion(entry.marks) }
        if left.first.version != part.first.version { marks.insert(.first) }
        if left.second.version != part.second.version { marks.insert(.second) }
        append(part, to: index)
        // Only then may the old part go, and the person with it.
        remove(position, of: index)
        guard !marks.isEmpty else { return }
        frame(part, marks, at: at)
        _ = lines[index].keep(part.index, marks, &merger)
        markDirty(index)
    }

    /// Moves whatever of a connection's watches has another home now, as `move` does one. What it keeps is walked over
    /// once for all of them.
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

    /// Registers that stand there as they were read, or not at all, become events.
    private func frame(_ part: Topic, _ marks: Marks, at: Timestamp) {
        if marks.contains(.first) { part.first.frame(.presence, part.subject, at: at) }
        if marks.contains(.second) { part.second.frame(.profile, part.subject, at: at) }
    }
}

extension Register {
    /// Someone who is not here: a body of Redis begins with the status.
    package var isOffline: Bool {
        guard version != 0 else { return true }
        let status = Array(#""status":"offline""#.utf8)
        guard let comma = bytes[object].firstIndex(of: UInt8(ascii: ",")) else { return false }
        return bytes[object][(comma + 1)...].starts(with: status)
    }

    /// Puts the event around what is an object alone, or nothing yet.
    fileprivate mutating func frame(_ kind: RegisterKind, _ user: UserID, at: Timestamp) {
        let framed: Register
        if version == 0 {
            guard bytes.isEmpty else { return }
            framed = RegisterFrame.unknown(kind, user: user, at: at)
        } else {
            guard object.count == bytes.count else { return }
            framed = RegisterFrame.event(kind, user: user, object: bytes, version: version, at: at)
        }
        bytes = framed.bytes
        object = framed.object
    }
}

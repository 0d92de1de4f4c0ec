import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// After a quiet period, compares the clients' state and events with the store.
extension TalkHistory {
    func compareAll() throws {
        for person in people { person.askAll() }
        for _ in 0..<100 where people.contains(where: { !$0.asked.isEmpty }) {
            try world.run(for: 100)
            try check()
        }
        for person in people where !person.asked.isEmpty { fail("\(person.name) is never answered") }
        try compare()
        try compareLists()
    }

    /// The last changes soon reach every client.
    private func compareLists() throws {
        for _ in 0..<30 {
            if try listFault() == nil { return }
            try world.run(for: 300)
            try check()
        }
        if let wrong = try listFault() { throw HistoryFault(description: "at \(world.now): \(wrong)") }
    }

    /// A difference between a user's list and the store; `nil`: none.
    func listFault() throws -> String? {
        for id in talks {
            guard let record = try record(id) else { return "\(id) is gone" }
            for person in people where !person.isGone {
                let told = person.list.entries[id]
                guard let own = record.member(UserID(person.name)!) else {
                    if let told, !told.isRemoved { return "the list of \(person.name) has \(id): \(told)" }
                    continue
                }
                if person !== people[3] { person.compareSettings(id, own, at: world.redisNow) }
                let truth = TalkList.Entry(record, for: own, at: world.redisNow)
                guard let told else { return "the list of \(person.name) lacks \(id)" }
                if told != truth { return "the list of \(person.name) has \(id) as \(told), which is \(truth)" }
            }
        }
        return nil
    }

    var partitions: Partitions { Partitions(world.configuration, database: 0) }

    private func record(_ id: String) throws -> ConversationRecord? {
        let id = ConversationID(id)!
        return ConversationRecord(id, try redis.ask(["HGETALL", partitions.keys(of: id).conversation(id)]).get())
    }

    func unfinished() -> [String] {
        (0..<world.configuration.partitions).flatMap { index in
            (try? redis.ask(["SMEMBERS", partitions.keys(index).unfinished]).get())?.array?.compactMap(\.string) ?? []
        }
    }

    /// The conversation's messages in the store.
    func stored(_ id: String) throws -> [StoredMessage] {
        let id = ConversationID(id)!
        let values = try redis.ask(["LRANGE", partitions.keys(of: id).log(id), "0", "-1"]).get().array ?? []
        return values.compactMap { $0.bytes.flatMap { StoredMessage($0) } }
    }

    private func compare() throws {
        if talks.count != 2 { fail("there are \(talks.count) conversations") }
        var places: [String: Int64] = [:]
        for id in talks {
            let messages = try stored(id)
            let first = try self.first(of: id)
            let numbers = messages.indices.map { Int64($0) + first }
            if messages.map(\.seq) != numbers {
                fail("the numbers of \(id) are \(messages.map(\.seq)) from \(first)")
            }
            for (seq, name) in names(before: first, of: id) { places[name] = seq }
            for message in messages {
                // (If a sender repeats a message that was removed, that is a new message.)
                if let seq = deleted[message.id], message.deletedAt == 0, seq == message.seq || seq >= first {
                    fail("\(message.id) is there, and was deleted")
                }
                if places.updateValue(message.seq, forKey: message.id) != nil { fail("\(message.id) is there twice") }
            }
            let record = try record(id)
            if id == group, record?.owner?.string != owner {
                fail("the owner of \(id) is \(record?.owner?.string ?? "nobody"), and not \(owner)")
            }
            let there = record?.members.map(\.user.string) ?? []
            if id == group, there.sorted() != members.sorted() {
                fail("the members of \(id) are \(there), and not \(members)")
            }
            let name = record?.name.map { String(decoding: $0.dropFirst().dropLast(), as: UTF8.self) }
            if id == group, let groupName, groupName != name {
                fail("the name of \(id) is \(name ?? "none"), and \(groupName) was acknowledged")
            }
            for person in people where record?.member(UserID(person.name)!) != nil {
                person.compare(id, with: messages)
            }
        }
        for (id, seq) in acknowledged where places[id] != seq {
            fail("\(id) was acknowledged as \(seq), and is \(places[id].map { "\($0)" } ?? "lost")")
        }
        for person in people where person !== people[3] {
            let user = UserID(person.name)!
            let receipts = try redis.ask(["HGET", partitions.keys(of: user).user(user), "receipts"]).get().string
            var there: Set<String> = []
            for id in talks {
                guard let own = try record(id)?.member(user) else { continue }
                there.insert(id)
                person.compareReceipts(id, own, of: receipts ?? "e")
                person.compareDelivered(id, own)
            }
            let inbox = try redis.ask(["HGETALL", partitions.keys(of: user).inbox(user)]).get().array ?? []
            let known = stride(from: 0, to: inbox.count - 1, by: 2).filter {
                inbox[$0 + 1].string?.hasPrefix("in ") == true
            }
            if Set(known.compactMap { inbox[$0].string }) != there {
                fail("the inbox of \(person.name) is \(inbox.compactMap(\.string))")
            }
        }
        try compareUploads()
        if let fault { throw fault }
    }
}

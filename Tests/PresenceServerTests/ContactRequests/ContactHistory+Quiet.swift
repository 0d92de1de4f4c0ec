import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Checks of a `ContactHistory` when all is quiet.
extension ContactHistory {
    func quieten() throws {
        isQuiet = true
        try world.calm()
        if isClosing || draw(0...1) == 0, !isGone { closeAccount() }
        try world.run(for: 30_000)
        for client in clients where !client.isConnected && !(isGone && client.user == "dee") {
            try client.connect(to: world.shards[draw(0...2)])
        }
        try world.run(for: 30_000)
        if let fault { throw fault }
        for place in 0..<world.configuration.partitions {
            let keys = Partitions(world.configuration, database: 0).keys(place)
            let left = try redis.command(["SMEMBERS", keys.unfinished]).get().array ?? []
            if !left.isEmpty { fail("unfinished: \(left.compactMap(\.string))") }
        }
        for name in Self.names where name != "dee" || !isGone { try check(name) }
        if isGone { try checkGone() }
        if let fault { throw fault }
    }

    private func check(_ name: String) throws {
        let user = UserID(name)!
        let value = try redis.command(["HGETALL", keys(of: user).asked(user)]).get()
        let open = AskedEntry.all(in: value).filter { $0.isOpen(at: world.redisNow) }
        for request in open {
            let asker = request.user.string
            if try state(of: "out:" + name, of: asker) != "s" { fail("\(name) is asked by \(asker), who does not ask") }
        }
        for other in Self.names where other != name && (other != "dee" || !isGone) {
            let isLost = everBlocked.contains("\(name) \(other)") || everBlocked.contains("\(other) \(name)")
            let lists = try [(name, other), (other, name)].map { one, two in
                let keys = keys(of: UserID(one)!)
                return try redis.command(["SISMEMBER", keys.contacts(UserID(one)!), two]).get().int == 1
            }
            if lists[0] != lists[1] { fail("one of \(name) and \(other) lists the other") }
            if accepted.contains("\(name) \(other)"), !lists[0] { fail("\(name) and \(other) are no contacts") }
            guard !isLost else { continue }
            if lists[0], open.contains(where: { $0.user.string == other }) {
                fail("\(other) is a contact and asks \(name)")
            }
        }
        let truth = String(decoding: OpenContactRequests(value, at: world.redisNow).member(), as: UTF8.self)
        for client in clients where client.user == name && client.isConnected {
            let connected = client.texts.lastIndex { $0.hasPrefix(#"{"type":"connected""#) } ?? 0
            let told = client.texts[connected...].last { $0.hasPrefix(#"{"type":"contactRequests""#) }
            let isRight = told.map { $0.contains(truth) } ?? open.isEmpty
            if !isRight { fail("\(name) is shown \(told ?? "nothing") instead of \(truth)") }
        }
        if !open.isEmpty { count("open at the end") }
    }

    /// Other users keep nothing that the deleted user has asked, or had been asked before.
    private func checkGone() throws {
        count("deletions")
        if try redis.command(["EXISTS", keys(of: dee).asked(dee)]).get().int != 0 {
            fail("dee is gone, and keeps requests")
        }
        for name in Self.names where name != "dee" {
            if try ["o", "a"].contains(state(of: "in:dee", of: name)) { fail("\(name) is asked by dee, who is gone") }
        }
    }
}

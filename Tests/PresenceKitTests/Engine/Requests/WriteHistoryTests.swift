import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Drawn histories of statuses and profile changes, over breaks, restarts, faults of the storage and changes of users:
/// in the end the server has what was promised, and nothing of another user.
@Suite struct WriteHistoryTests {
    @Test(arguments: 1...40) func `one user`(seed: Int) { run(seed, users: ["ana"], faults: true) }
    @Test(arguments: 1...40) func `several users`(seed: Int) { run(seed, users: ["ana", "eve"], faults: true) }
    @Test(arguments: 1...40) func `several users on a good disk`(seed: Int) {
        run(seed, users: ["ana", "eve"], faults: false)
    }

    private func run(_ seed: Int, users: [String], faults: Bool) {
        var world = WriteWorld(seed: UInt64(seed), users: users, faults: faults)
        for _ in 0..<Int.random(in: 20...150, using: &world.random) { world.step() }
        world.comeToRest()
        world.check()
    }
}

extension WriteWorld {
    // MARK: Promises

    mutating func answered(_ call: CallID, _ result: Result<Reply, PresenceError>) {
        guard let made = pending.removeValue(forKey: call) else { return }
        switch result {
        case .success(let reply):
            var text = "\(reply)"
            if text.contains("saved") {
                text = "saved"
            } else if text.contains("queued") {
                promised.insert(made.number)
            }
            log("answer \(made.number) \(text.suffix(8))")
            promise(made)
        case .failure(let error):
            log("answer \(made.number) \(error.code) unknown \(error.outcomeUnknown)")
            if error.outcomeUnknown || error.code == .signedOut { mayBe(made) } else { forbidden.insert(made.number) }
        }
    }

    func slots(_ made: Made) -> [Slot] {
        made.slots.flatMap { field in (made.owner.map { [$0] } ?? users).map { Slot(user: $0, field: field) } }
    }

    mutating func promise(_ made: Made) {
        guard made.owner != nil else { return mayBe(made) }
        for slot in slots(made) {
            let later = (possible[slot] ?? unsure[slot] ?? []).filter { $0 > made.number }
            possible[slot] = later.union([made.number])
        }
    }

    mutating func mayBe(_ made: Made) {
        for slot in slots(made) {
            possible[slot]?.insert(made.number)
            unsure[slot, default: []].insert(made.number)
        }
    }

    /// The user's data was deleted.
    mutating func anything() { for slot in Array(possible.keys) { possible[slot] = nil } }

    // MARK: Steps

    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<22: call()
        case 22..<40: work()
        case 40..<56: deliver()
        case 56..<70: operate()
        case 70..<78: move()
        case 78..<82: breakDown()
        case 82..<86: isThere.toggle(); log("there \(isThere)")
        case 86..<90: pass(.milliseconds(Int.random(in: 1...3_000, using: &random)))
        case 90..<92: restart()
        case 92..<94: if users.count > 1 { appUser = users.randomElement(using: &random)!; log("token of \(appUser)") }
        case 94..<95: log("reconnect"); handle(.reconnect)
        case 95..<96: cancel()
        case 96..<97: life()
        default: move(); operate()
        }
    }

    mutating func call() {
        lastCall += 1
        lastValue += 1
        let (id, value) = (CallID(number: lastCall), lastValue)
        let writer = engine.link.isConnected ? engine.me.id?.string : engine.me.writer?.string
        let isGuess = engine.me.account == nil
        let kind = Int.random(in: 0..<6, using: &random)
        var fields: [Field] = []
        let call: Call
        if kind < 2 {
            fields = [.text]
            call = .setStatus(StatusChange(status: .busy, text: .set("\(value)")))
        } else {
            var changes = ProfileChanges()
            if kind != 3 { changes.displayName = .set("\(value)"); fields.append(.name) }
            if kind != 2 { changes.photoURL = .set("https://x.org/\(value)"); fields.append(.photo) }
            call = .updateProfile(changes, kind == 5 ? .fail : .queue)
        }
        log("call \(value) \(fields.map { "\($0)" }) by \(writer ?? "-")")
        // Before a token is known, a call belongs to the token's user.
        owners[value] = isGuess ? .some(nil) : writer
        pending[id] = Made(number: value, owner: isGuess ? nil : writer, slots: fields, call: id)
        handle(.call(id, call))
    }

    mutating func life() {
        lastCall += 1
        let id = CallID(number: lastCall)
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            log("sign-out")
            handle(.signOut(id))
            anything()
            if chance(70, &random) { handle(.connect) }
            confirmed = nil
        case 1 where users.count > 1:
            appUser = users.randomElement(using: &random)!
            log("signed in \(appUser)")
            let isOther = [engine.me.account?.string, engine.me.id?.string].contains { $0 != nil && $0 != appUser }
            handle(.signedIn(UserID(appUser)))
            if isOther { anything() }
            for slot in Array(possible.keys) where slot.user != appUser { possible[slot] = nil }
        case 2 where users.count > 1:
            appUser = users.randomElement(using: &random)!
            log("switch to \(appUser)")
            handle(.switchUser(id))
            anything()
            confirmed = nil
        case 3, 4:
            log("disconnect")
            handle(.disconnect(id))
            if chance(70, &random) { handle(.connect) }
        case 5:
            log("network")
            handle(.network(false))
            if chance(70, &random) { handle(.network(true)) }
        case 6: handle(.background)
        default: handle(.foreground)
        }
    }

    mutating func cancel() {
        guard let id = pending.keys.sorted().randomElement(using: &random) else { return }
        log("cancel \(pending[id]!.number)")
        handle(.cancel(id))
    }

    mutating func comeToRest() {
        isThere = true
        handle(.connect)
        handle(.network(true))
        for _ in 0..<120 {
            for _ in 0..<6 { move(); work(); deliver(); operate(mayFail: false) }
            pass(.milliseconds(200))
        }
        log("REST")
    }

    func check() {
        let final = appUser
        var all = issues
        if !pending.isEmpty { all.append("calls wait: \(pending.values.map(\.number))") }
        if !engine.link.isConnected { all.append("not connected") }
        if engine.link.isConnected {
            let user = engine.me.id!.string
            for field in [Field.name, .photo, .text] {
                let slot = Slot(user: user, field: field)
                if let possible = possible[slot], !possible.contains(server[slot] ?? 0) {
                    all.append("\(user).\(field) is \(server[slot] ?? 0), not one of \(possible.sorted())")
                }
            }
        }
        if !writes.filter({ $0.owner == engine.me.id?.string }).isEmpty { all.append("writes stay: \(writes.count)") }
        if !all.isEmpty {
            Issue.record(
                "seed \(seed) \(final): \(all.joined(separator: "; "))\n\(trace.suffix(80).joined(separator: "\n"))")
        }
    }
}

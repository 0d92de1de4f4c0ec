import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Users who have left the group of a `TalkHistory`, for a while or for good, and must receive nothing more of it.
extension TalkHistory {
    /// The group's numbers at that time.
    struct Leaving {
        /// The last change of its messages.
        let change: Int64
        let version: Int64
    }

    private var dee: TalkPerson { people[4] }
    private var deesID: UserID { UserID("dee")! }
    private var address: EmailAddress { EmailAddress("dee@example.org")! }

    // MARK: A deleted account

    func openAccount() throws {
        let keys = partitions.keys(of: deesID)
        _ = try redis.ask(["HSET", keys.account(deesID), "email", address.text, "version", "1"]).get()
        _ = try redis.ask(["HSET", keys.emails(with: address), address.text, "dee 0"]).get()
    }

    /// Starts when both conversations exist. The deletion is repeated until it is done.
    func closeAccount() {
        guard closing == nil, talks.count == 2, !people.contains(where: \.isCreating) else { return }
        everOut.insert("dee")
        closing = 0
        keepClosing()
    }

    /// Runs the same scripts as a server (`Accounts.remove`): the first one decides, whatever happens to that server.
    func keepClosing() {
        guard let closing, !dee.isGone, world.now >= closing + 3_000,
            let shard = world.shards.first(where: { $0.isRunning && $0.logic.link.isLive })
        else { return }
        self.closing = world.now
        let (keys, user) = (partitions.keys(of: deesID), deesID)
        shard.input { [address] logic in
            logic.run(keys.deletion(of: user, address)) { [weak logic] result in
                guard case .success(let value) = result, value.array?.first?.string == "OK" else { return }
                logic?.feature(Conversations.self)?.departing.begin(user)
            }
        }
    }

    // MARK: Scripts' effects

    /// Called when a script returned `OK`.
    func recordScript(_ script: Script, _ arguments: [String]) {
        switch script {
        case .members:
            recordMembers(stride(from: 7, to: arguments.count - 1, by: 2).map { arguments[$0] + arguments[$0 + 1] })
        case .participants: recordMembers(arguments[5...].map { "+" + $0 })
        case .depart: recordMembers(["-" + arguments[5]])
        case .settle where arguments[4] == group:
            let users = stride(from: 5, to: arguments.count - 3, by: 4).filter { arguments[$0 + 2] == "-" }
            recordMembers(users.map { "-" + arguments[$0] })
        case .deleteAccount: dee.isGone = true
        case .send, .editMessage, .deleteMessage, .rename:
            let (talk, user) = (arguments[3], arguments[4])
            if talk == group, out.contains(user) { fail("\(script.name) of \(user), who had left") }
        case .pushSettle where arguments[4] == group && arguments[8] != "":
            let user = UserID(arguments[3])!
            let keys = partitions.keys(of: user)
            let state = try? redis.ask(["HGET", keys.inbox(user), group]).get().string
            // Otherwise it is decided again.
            let record = try? redis.ask(["HGET", keys.pushed(user), group]).get().string
            let isMade = record?.hasPrefix("\(arguments[7]) \(arguments[0])") == true
            if isMade, state?.hasPrefix("out ") == true || user == deesID && dee.isGone {
                fail("\(user) is pushed for the group, which they had left")
            }
        default: break
        }
    }

    func recordLeaving(_ user: String) {
        let id = ConversationID(group)!
        let key = partitions.keys(of: id).conversation(id)
        let fields = (try? redis.ask(["HMGET", key, "changes", "version"]).get())?.array ?? []
        let numbers = fields.map { $0.string.flatMap { Int64($0) } ?? 0 }
        leavings[user] = Leaving(change: numbers.first ?? 0, version: numbers.last ?? 0)
    }

    // MARK: Received events

    /// Called when a user receives a change of a conversation's messages.
    func recordReceived(_ change: Int64, of talk: String, by name: String) {
        guard talk == group, out.contains(name), let leaving = leavings[name], change > leaving.change else { return }
        fail("\(name) heard change \(change) of the group, which they had left at \(leaving.change)")
    }

    /// Called when a user receives a conversation as one of theirs.
    func recordListed(_ version: Int64, of talk: String, to name: String) {
        guard talk == group, out.contains(name), let leaving = leavings[name], version > leaving.version else { return }
        fail("\(name) is told version \(version) of the group, which they had left at \(leaving.version)")
    }

    // MARK: Traces of users who left

    /// A trace of a user who left, or an event missing at the webhook; `nil`: none.
    func leftFault() throws -> String? {
        for user in Set(people.map(\.name)).subtracting(members).sorted().compactMap({ UserID($0) }) {
            let keys = partitions.keys(of: user)
            let noted = try redis.ask(["HMGET", keys.pushed(user), group, " " + group]).get().array ?? []
            let due = try redis.ask(["ZSCORE", keys.push, "\(user) \(group)"]).get().string
            if noted.contains(where: { $0.string != nil }) || due != nil {
                return "\(user) is to be pushed for the group, which they had left, at \(due ?? "-"): \(noted)"
            }
        }
        if let closing, !dee.isGone { return "an account was to be closed at \(closing), and is not" }
        if dee.isGone {
            if dee.client.isConnected { return "the account of dee is closed, and she is connected" }
            let keys = partitions.keys(of: deesID)
            for key in [keys.inbox(deesID), keys.devices(deesID), keys.pushed(deesID), keys.sessions(deesID)]
            where try redis.ask(["EXISTS", key]).get().int != 0 {
                return "the account of dee is closed, and has \(key)"
            }
        }
        guard let webhooks else { return nil }
        told.receive(webhooks.log.calls)
        let untold = acknowledged.keys.filter { !told.ids.contains($0) }
        return untold.isEmpty ? nil : "the webhook was not told of \(untold.sorted().prefix(3))"
    }
}

/// The ids of the messages delivered to a webhook.
struct ToldMessages {
    private(set) var ids: Set<String> = []
    private var count = 0

    private struct Created: Decodable {
        struct Content: Decodable {
            struct Message: Decodable { let id: String }
            let message: Message
        }
        let data: Content
    }

    mutating func receive(_ calls: [QueuedEvent]) {
        for call in calls[count...] {
            guard let created = try? JSONDecoder().decode(Created.self, from: Data(call.body)) else { continue }
            ids.insert(created.data.message.id)
        }
        count = calls.count
    }
}

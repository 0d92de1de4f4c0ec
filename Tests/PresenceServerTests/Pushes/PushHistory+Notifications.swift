import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// The effects of deletions on pushed messages, and the notifications: one for each message that was pushed and not
/// deleted.
extension PushHistory {
    private static let (keep, keepFor) = ("200", "2592000000")

    /// Opens the user's list, which marks everything as read.
    func readNotifications(_ user: String) {
        let id = UserID(user)!
        let keys = partitions.keys(of: id)
        let seqs = notifications(of: id).keys.sorted()
        run(
            .markNotifications, [keys.shards, keys.floor, keys.notifications(id), keys.notificationMarks(id)], keys,
            [user, Self.keep, Self.keepFor, "-", "0", "\(seqs.count)"] + seqs)
        past.readHints(of: user, at: now)
    }

    /// A backend notifies a user: the text is `hint:NUMBER`.
    func notify(_ user: String) {
        let (id, push) = (UserID(user)!, NotificationPush.allCases[draw(0...2)])
        let keys = partitions.keys(of: id)
        let number = past.hint(to: user, push, at: now)
        var new = NotificationRequest.New()
        (new.id, new.kind, new.push) = (Identifier("hint-\(number)"), CreationKey("hint"), push)
        (new.title, new.body) = (Array("\"hint\"".utf8), Array("\"hint:\(number)\"".utf8))
        let names = [
            keys.shards, keys.floor, keys.push, keys.notifications(id), keys.notificationMarks(id), keys.sessions(id),
            keys.user(id),
        ]
        let rest = [Self.keep, Self.keepFor, "hint-\(number)", "", String(decoding: new.json, as: UTF8.self), ""]
        run(
            .notify, PartitionKeys.offering(names), keys,
            rest + [new.waitForPush.map { "\($0)" } ?? "", "\"hint\"", user])
    }

    /// Withdraws a deleted message, as the courier does when it receives the deletion.
    func withdraw(_ seq: Int, _ talk: String) {
        for user in Self.talks[talk]! where user != "ana" {
            let id = UserID(user)!
            let keys = partitions.keys(of: id)
            run(
                .pushWithdraw,
                [
                    keys.shards, keys.floor, keys.pushed(id), keys.notifications(id), keys.notificationMarks(id),
                    keys.push,
                    keys.sessions(id),
                ], keys,
                [
                    user, talk, "\(seq)", Self.keep, Self.keepFor, "\(PushScheduler.wait)",
                    Notifications.id(ofMessage: Int64(seq), in: ConversationID(talk)!).string,
                ])
        }
    }

    /// Checks that a withdrawn message is not pushed again, and that the last pushed one has a notification once that
    /// is stored.
    func check(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        if script == .pushSettle { checkTold(arguments) }
        guard case .success(let value) = answer, value.array?.first?.string == "OK" else { return }
        switch script {
        case .pushWithdraw: past.withdrawn.insert("\(arguments[3]) \(arguments[4]):\(arguments[5])")
        case .notify:
            let (talk, at, user) = (arguments[6], arguments[8], arguments[11])
            guard let told = told(talk, to: user), told[1] == at else { return }
            let text = "\(talk):\(told[0])"
            let isThere = notifications(of: UserID(user)!).values.contains {
                $0.text == text && time(of: $0.at) >= time(of: Timestamp(at)!)
            }
            if !isThere { fault = "\(user) has no notification of \(text)" }
        default: break
        }
    }

    /// Reads the last push from the record, also if `push-settle` added nothing.
    private func checkTold(_ arguments: [String]) {
        let (user, talk, seq) = (arguments[3], arguments[4], arguments[7])
        guard seq != "0", let told = told(talk, to: user), told[0] == seq, let due = Timestamp(told[1]) else { return }
        past.recordTold(Int(seq)!, due: time(of: due), to: PushPast.Place(user: user, talk: talk))
        if past.withdrawn.contains("\(user) \(talk):\(seq)") { fault = "\(user) was told of \(seq), which was deleted" }
    }

    /// The number of the last message that the user was pushed for; 0: none.
    func toldLast(_ talk: String, to user: String) -> Int { told(talk, to: user).flatMap { Int($0[0]) } ?? 0 }

    /// The last push: the message's number, the time, and the devices.
    private func told(_ talk: String, to user: String) -> [String]? {
        let id = UserID(user)!
        let value = try? redis.ask(["HGET", partitions.keys(of: id).pushed(id), talk]).get().string
        return value?.split(separator: "|")[0].split(separator: " ").map(String.init)
    }

    /// The user's notifications by their seq: the text `TALK:SEQ`, and the time.
    private func notifications(of user: UserID) -> [String: (text: String, at: Timestamp)] {
        let fields = (try? redis.ask(["HGETALL", partitions.keys(of: user).notifications(user)]).get())?.array ?? []
        var held: [String: (text: String, at: Timestamp)] = [:]
        for place in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let seq = fields[place].string, seq != "index", let bytes = fields[place + 1].bytes else { continue }
            let object = try? JSONSerialization.jsonObject(with: Data(bytes + Array("}".utf8))) as? [String: Any]
            held[seq] = (object?["body"] as? String ?? "?", (object?["at"] as? NSNumber)?.int64Value ?? 0)
        }
        return held
    }

    /// Called when every push has been decided.
    func notificationFault() -> String? {
        for user in ["bob", "cy", "dan"] {
            let held = Set(notifications(of: UserID(user)!).values.map(\.text))
            for text in held.sorted() where past.isDeleted(text, at: now) {
                return "\(user) has a notification of \(text), which is deleted"
            }
            // The ids of a partition's events sort in their order.
            let told = Dictionary(grouping: past.pushes.filter { $0.user == user }, by: \.talk)
            for talk in told.keys.sorted() {
                let newest = told[talk]!.max { $0.id < $1.id }!
                let text = "\(talk):\(newest.seq)"
                if !held.contains(text), !past.isDeleted(text, at: now) {
                    return "\(user) has no notification of \(text)"
                }
            }
        }
        return nil
    }
}

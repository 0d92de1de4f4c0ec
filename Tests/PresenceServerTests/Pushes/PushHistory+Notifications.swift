import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// What becomes of what was told when its message is deleted; and notifications, of which there is one of each that was told until
/// then.
extension PushHistory {
    private static let (keep, keepFor) = ("200", "2592000000")

    /// They open the list, and all of it counts as read.
    func readNotifications(_ user: String) {
        let id = UserID(user)!
        let keys = partitions.keys(of: id)
        let seqs = notifications(of: id).keys.sorted()
        run(
            .markNotifications, [keys.shards, keys.floor, keys.notifications(id), keys.notificationMarks(id)], keys,
            [user, Self.keep, Self.keepFor, "-", "0", "\(seqs.count)"] + seqs)
    }

    /// As the courier has it done when it hears of a deletion.
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
                    user, talk, "\(seq)", Self.keep, Self.keepFor, "\(DuePushes.wait)",
                    Notifications.id(ofMessage: Int64(seq), in: ConversationID(talk)!).string,
                    "\(past.sent[talk]!.count)",
                ])
        }
    }

    /// What has been withdrawn is not told any more, and what was told last has a notification once it is made.
    func look(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        if script == .pushTell { lookAtTold(arguments) }
        guard case .success(let value) = answer, value.array?.first?.string == "OK" else { return }
        switch script {
        case .pushWithdraw: past.withdrawn.insert("\(arguments[3]) \(arguments[4]):\(arguments[5])")
        case .notify:
            let (talk, at, user) = (arguments[6], arguments[8], arguments[9])
            guard let told = told(talk, to: user), told[1] == at else { return }
            let text = "\(talk):\(told[0])"
            let isThere = notifications(of: UserID(user)!).values.contains {
                $0.text == text && time(of: $0.at) >= time(of: Timestamp(at)!)
            }
            if !isThere { fault = "\(user) has no notification of \(text)" }
        default: break
        }
    }

    /// If `push-tell` has not told it, this is what was told before.
    private func lookAtTold(_ arguments: [String]) {
        let (user, talk, seq) = (arguments[3], arguments[4], arguments[7])
        guard let told = told(talk, to: user), told[0] == seq, let due = Timestamp(told[1]) else { return }
        past.tell(Int(seq)!, due: time(of: due), to: PushPast.Place(user: user, talk: talk))
        if past.withdrawn.contains("\(user) \(talk):\(seq)") { fault = "\(user) was told of \(seq), which was deleted" }
    }

    /// The message that they were pushed for last; 0: none.
    func toldLast(_ talk: String, to user: String) -> Int { told(talk, to: user).flatMap { Int($0[0]) } ?? 0 }

    /// What they were pushed for: the message's number, when, and the devices.
    private func told(_ talk: String, to user: String) -> [String]? {
        let id = UserID(user)!
        let value = try? redis.ask(["HGET", partitions.keys(of: id).pushed(id), talk]).get().string
        return value?.split(separator: " ").map(String.init)
    }

    /// What they are notified of by now, under its seq: `TALK:SEQ`, and when.
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

    /// When everything has been told.
    func notificationFault() -> String? {
        for user in ["bob", "cy", "dan"] {
            let held = Set(notifications(of: UserID(user)!).values.map(\.text))
            for text in held.sorted() where past.isDeleted(text, at: now) {
                return "\(user) has a notification of \(text), which is deleted"
            }
            // The ids of a partition's events sort as they came.
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

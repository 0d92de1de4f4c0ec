import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// An upload counts the messages of its uploader that mention it, and becomes due without one.
extension TalkHistory {
    struct Upload {
        let name: String
        let user: String
        let talk: String
    }

    /// The attachment of a user's message: a new upload, that of the message before, another user's, or none.
    ///
    /// - Parameter recent: The user's upload for a message that is certain to be sent before this one.
    func attached(by user: String, in talk: String, after recent: inout Upload?) -> String {
        let others = uploads.filter { $0.talk == talk && $0.user != user }
        let chosen: Upload?
        switch Int.random(in: 0...4, using: &choices) {
        case 0, 1:
            recent = upload(by: user, to: talk)
            chosen = recent
        case 2: chosen = recent
        case 3: chosen = others.randomElement(using: &choices)
        default: chosen = nil
        }
        guard let chosen else { return "" }
        let url = "https://e.org/v1/attachments/\(chosen.name).bin"
        return #","attachments":[{"id":"a","kind":"file","url":"\#(url)","thumbnailURL":"\#(url)","sizeBytes":1}]"#
    }

    private func upload(by user: String, to talk: String) -> Upload? {
        let shard = world.shards.first { !$0.isDead && $0.logic.link.isLive }
        let digits = String(uploads.count + 1, radix: 16)
        guard let shard, let id = ConversationID(talk),
            let name = StoredName(String(repeating: "0", count: 32 - digits.count) + digits)
        else { return nil }
        let keys = partitions.keys(of: id)
        let answer = redis.run(
            .attach,
            keys: [
                keys.shards, keys.floor, keys.conversation(id), keys.attachments(id), keys.attachmentsDue,
                keys.attachment(name),
            ],
            arguments: [
                String(world.redisNow), keys.events, shard.logic.link.incarnation, talk, user, name.text, "3600000",
                "size",
                "1",
            ])
        guard case .success(let value) = answer, value.array?.first?.string == "OK" else { return nil }
        let upload = Upload(name: name.text, user: user, talk: talk)
        uploads.append(upload)
        return upload
    }

    func compareUploads() throws {
        for talk in talks {
            let id = ConversationID(talk)!
            let keys = partitions.keys(of: id)
            let log = try stored(talk)
            let messages = log.map { (from: $0.from, text: String(decoding: $0.attachments, as: UTF8.self)) }
            let deleting = Set(log.filter { $0.deletedAt > 0 }.map(\.from))
            for upload in uploads where upload.talk == talk {
                let count = messages.count { $0.from == upload.user && $0.text.contains(upload.name) }
                let held = try redis.ask(["HGET", keys.attachments(id), upload.name]).get().string
                let due = try redis.ask(["ZSCORE", keys.attachmentsDue, "\(upload.name) \(talk)"]).get().string
                guard let held else {
                    if due != "0" { fail("\(upload.name) is gone, and nobody looks at it") }
                    // (An upload removed with a message, by age or deletion, may have been mentioned again since.)
                    if count > 0, keepFor == 0, !deleting.contains(upload.user) {
                        fail("\(upload.name) is gone, and mentioned \(count) times")
                    }
                    continue
                }
                if held.split(separator: " ").last.flatMap({ Int($0) }) != count {
                    fail("\(upload.name) is mentioned \(count) times: \(held)")
                }
                if due == nil { fail("\(upload.name) is not looked at") }
            }
        }
    }
}

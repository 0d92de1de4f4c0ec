import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// How long uploads are kept, in simulated time, with files in a folder.
@Suite struct AttachmentLifeTests {
    /// Ana and bob in a group. Uploads without a message are kept for an hour, so a sweep runs every minute.
    private final class Room {
        let world: World
        let folder: String
        let ana: SimulatedClient
        let bob: SimulatedClient
        let id: ConversationID
        private var sent = 0

        init(_ adjust: (inout ServerConfiguration) -> Void = { _ in }) throws {
            let folder = FileManager.default.temporaryDirectory.path + "/attachments-\(UInt64.random(in: 0 ... .max))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            self.folder = folder
            let world = try World(shards: 2) {
                $0[Attachments.enabled] = true
                $0[Attachments.unusedFor] = 3_600_000
                $0.dataDirectory = folder
                adjust(&$0)
            }
            self.world = world
            ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
            bob = try SimulatedClient("bob", in: world).connect(to: world.shards[1])
            ana.sendText(#"{"type":"createConversation","id":1,"participants":["bob"],"name":"Trip"}"#)
            let ana = ana
            var made: ConversationID?
            try world.run(until: "there is a conversation") {
                made =
                    ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first
                return made != nil
            }
            id = made!
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        var logic: ShardLogic { world.shards[0].logic }
        var keys: PartitionKeys { logic.partitions.keys(of: id) }

        /// Writes an upload's file, runs its script, and returns its name.
        @discardableResult
        func upload(by user: String = "ana") throws -> StoredName {
            let name = StoredName(near: id, in: logic.partitions)
            let store = FileFolder(path: folder + "/attachments")
            try store.store([StoredPart(kind: .bytes, content: .bytes([1, 2, 3]))], as: name)
            let answer = try world.redis.run(
                .attach,
                keys: [
                    keys.shards, keys.floor, keys.conversation(id), keys.attachments(id), keys.attachmentsDue,
                    keys.attachment(name),
                ],
                arguments: [
                    String(world.redisNow), keys.events, logic.link.incarnation, id.string, user, name.text, "3600000",
                    "kind", "file", "size", "3",
                ]
            ).get()
            let word = answer.array?.first?.string
            expect(word, equals: ["ana", "bob"].contains(user) ? "OK" : "FORBIDDEN")
            return name
        }

        func send(_ message: String, by client: SimulatedClient? = nil, _ uploads: StoredName...) throws {
            sent += 1
            let list = uploads.map {
                let url = "https://e.org/v1/attachments/\($0.text).bin"
                return #"{"id":"\#($0.text)","kind":"file","url":"\#(url)","thumbnailURL":"\#(url)","sizeBytes":3}"#
            }
            (client ?? ana).sendText(
                #"{"type":"send","id":\#(100 + sent),"conversation":"\#(id)","#
                    + #""message":{"id":"\#(message)","text":"hi","attachments":[\#(list.joined(separator: ","))]}}"#)
            try world.run(for: 100)
        }

        func delete(_ message: String) throws {
            sent += 1
            ana.sendText(
                #"{"type":"deleteMessage","id":\#(100 + sent),"conversation":"\#(id)","message":"\#(message)"}"#)
            try world.run(for: 1_000)
        }

        func isThere(_ name: StoredName) -> Bool {
            let file = FileFolder(path: folder + "/attachments").path(of: StoredFile(name, .bytes))
            return FileManager.default.fileExists(atPath: file)
        }

        /// Whether Redis has no record of a name.
        func isForgotten(_ name: StoredName) throws -> Bool {
            let held = try world.redis.command(["HEXISTS", keys.attachments(id), name.text]).get().int == 1
            let isKnown = try world.redis.command(["EXISTS", keys.attachment(name)]).get().int == 1
            let due = try world.redis.command(["ZSCORE", keys.attachmentsDue, "\(name.text) \(id)"]).get().string
            return !held && !isKnown && due == nil
        }
    }

    @Test func `an upload that no message mentions in its time is removed, and no earlier`() throws {
        let room = try Room()
        let (unused, used) = (try room.upload(), try room.upload())
        try room.send("m1", used)
        try room.world.run(for: 3_590_000)
        expect(room.isThere(unused) && room.isThere(used))
        try room.world.run(for: 80_000)
        expect(!room.isThere(unused))
        try expect(room.isForgotten(unused))
        // Three times as long as an unused one.
        try room.world.run(for: 2 * 3_600_000)
        expect(room.isThere(used))
    }

    @Test func `an upload is removed at once with the last message of its uploader that mentions it`() throws {
        let room = try Room()
        let name = try room.upload()
        try room.send("m1", name)
        try room.send("m2", name, name)
        try room.send("m3", by: room.bob, name)
        // A repeated send does not count as another mention.
        try room.send("m2", name, name)
        try room.delete("m1")
        try room.delete("m1")
        expect(room.isThere(name))
        try room.delete("m2")
        expect(!room.isThere(name))
        try expect(room.isForgotten(name))
    }

    @Test func `messages above the limit take their uploads with them`() throws {
        let room = try Room { $0[Messages.keepPerConversation] = 2 }
        let (first, second) = (try room.upload(), try room.upload())
        try room.send("m1", first)
        try room.send("m2", second)
        expect(room.isThere(first))
        try room.send("m3")
        try room.world.run(for: 70_000)
        expect(!room.isThere(first) && room.isThere(second))
        try expect(room.isForgotten(first))
    }

    @Test func `expired messages take their uploads with them`() throws {
        let room = try Room { $0[Messages.keepFor] = 2 * 3_600_000 }
        let name = try room.upload()
        try room.send("m1", name)
        try room.world.run(for: 7_190_000)
        expect(room.isThere(name))
        try room.world.run(for: 200_000)
        expect(!room.isThere(name))
    }

    @Test func `a conversation that ends takes all uploads with it`() throws {
        let room = try Room()
        let (used, unused) = (try room.upload(), try room.upload(by: "bob"))
        try room.send("m1", used)
        room.bob.sendText(#"{"type":"changeMembers","id":7,"conversation":"\#(room.id)","remove":["bob"]}"#)
        room.ana.sendText(#"{"type":"changeMembers","id":8,"conversation":"\#(room.id)","remove":["ana"]}"#)
        try room.world.run(for: 70_000)
        expect(!room.isThere(used) && !room.isThere(unused))
        try expect(room.isForgotten(used) && room.isForgotten(unused))
    }

    @Test func `a user who is not a member cannot upload, and the sweep removes the file`() throws {
        let room = try Room { $0[Attachments.sweepTime] = 60_000 }
        let kept = try room.upload()
        let (old, young) = (try room.upload(by: "cy"), try room.upload(by: "cy"))
        try expect(room.world.redis.command(["HLEN", room.keys.attachments(room.id)]).get().int, equals: 1)
        for name in [kept, old] {
            let file = FileFolder(path: room.folder + "/attachments").path(of: StoredFile(name, .bytes))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -3_600)], ofItemAtPath: file)
        }
        try room.world.run(for: 180_000)
        expect(room.isThere(kept) && !room.isThere(old) && room.isThere(young))
    }

    @Test func `a server that dies before it removed the file leaves it to the next one`() throws {
        let room = try Room()
        let name = try room.upload()
        try room.send("m1", name)
        // The state that the script leaves.
        let keys = room.keys
        _ = try room.world.redis.command(["HDEL", keys.attachments(room.id), name.text]).get()
        _ = try room.world.redis.command(["ZADD", keys.attachmentsDue, "0", "\(name.text) \(room.id)"]).get()
        for place in 0...1 {
            room.world.shards[place].die()
            room.world.replaceShard(at: place)
        }
        try room.world.run(for: 120_000)
        expect(!room.isThere(name))
        try expect(room.isForgotten(name))
    }

    @Test func `a failed removal is repeated`() throws {
        let room = try Room()
        let name = try room.upload()
        try room.send("m1", name)
        let file = FileFolder(path: room.folder + "/attachments").path(of: StoredFile(name, .bytes))
        // A folder in the file's place cannot be unlinked.
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        try room.delete("m1")
        try expect(!room.isForgotten(name))
        try FileManager.default.removeItem(atPath: file)
        try room.world.run(for: 180_000)
        try expect(room.isForgotten(name))
    }
}

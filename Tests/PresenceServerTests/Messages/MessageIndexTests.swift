import Expectations
import Foundation
import PresenceProtocol
import Redis
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Message ids chosen for equal hashes do not make sends expensive, and no accepted message is forgotten.
@Suite struct MessageIndexTests {
    private let world: World
    private let ana: SimulatedClient
    private let id: ConversationID
    private let keys: PartitionKeys

    init() throws {
        let world = try World(shards: 1)
        let ana = try SimulatedClient("ana", in: world).connect(to: world.shards[0])
        (self.world, self.ana) = (world, ana)
        ana.send(.createConversation(participants: [UserID("bob")!]))
        var made: ConversationID?
        try world.run(until: "there is a conversation") {
            made = ana.received.compactMap { if case .conversationCreated(_, let c) = $0 { c.id } else { nil } }.first
            return made != nil
        }
        id = made!
        keys = world.shards[0].logic.partitions.keys(of: made!)
    }

    /// The answer to a send of a message with this id.
    private func send(_ message: String, _ number: Int) throws -> String {
        ana.sendText(
            #"{"type":"send","id":\#(number),"conversation":"\#(id)","message":{"id":"\#(message)","text":"hi"}}"#)
        var answer: String?
        try world.run(until: "it is answered") {
            answer = ana.texts.last { $0.contains(#""id":\#(number),"#) }
            return answer != nil
        }
        return answer!
    }

    /// Stores messages of other users after the present ones, each with an id whose hash equals that of `message`.
    private func fill(_ count: Int, like message: String) throws {
        let last = Int(try world.redis.command(["HGET", keys.conversation(id), "last"]).get().string ?? "0") ?? 0
        let script = """
            local hash = struct.pack('>I4', tonumber(string.sub(redis.sha1hex(ARGV[1]), 1, 8), 16))
            for seq = ARGV[2] + 1, ARGV[2] + ARGV[3] do
                redis.call('RPUSH', KEYS[1], 'x' .. seq .. ' ' .. seq .. ' ' .. seq .. ' 1 eve 0 0 0 -\\31"t"\\31\\31')
                redis.call('APPEND', KEYS[2], hash .. hash)
            end
            """
        _ = try world.redis.command([
            "EVAL", script, "2", keys.log(id), keys.prints(id), message, String(last), String(count),
        ]).get()
        _ = try world.redis.command(["HSET", keys.conversation(id), "last", String(last + count)]).get()
    }

    private func lookups() throws -> Int {
        let info = try world.redis.command(["INFO", "commandstats"]).get().string ?? ""
        let line = info.split(separator: "\r\n").first { $0.hasPrefix("cmdstat_lindex:") } ?? ""
        return line.split(separator: "=").dropFirst().first.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
    }

    @Test func `a message is found however many later ones have the same hash`() throws {
        let first = try send("m1", 100)
        expect(first.contains("sent"))
        try fill(1_000, like: "m1")
        let before = try lookups()
        try expect(send("m1", 101).replacing(#""id":101"#, with: #""id":100"#), equals: first)
        try expect(lookups() - before < 25)
    }

    @Test func `an id is accepted after 16 places with its hash, and not after more`() throws {
        // Two places each.
        try fill(8, like: "m1")
        try expect(send("m1", 100).contains(#""type":"sent""#))
        try fill(1, like: "m2")
        try expect(send("m1", 101).contains(#""type":"sent""#))
        try fill(8, like: "m2")
        let before = try lookups()
        try expect(send("m2", 102).contains(#""code":"conflict""#))
        try expect(lookups() - before < 25)
    }
}

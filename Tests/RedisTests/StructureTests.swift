import Expectations
import Testing

@testable import Redis

struct StructureTests {
    @Test func `a channel is found by its bytes`() {
        let names = (0..<128).map { "{p\($0)}:events" }
        let table = ChannelTable(names)
        for (index, name) in names.enumerated() {
            expect(Array(name.utf8).withUnsafeBytes { table.place(of: $0) }, equals: index)
        }
        expect(Array("{p128}:events".utf8).withUnsafeBytes { table.place(of: $0) }, equals: nil)
        expect([UInt8]().withUnsafeBytes { table.place(of: $0) }, equals: nil)
    }

    @Test func `channels that come and go are found like those of a dictionary`() {
        var table = ChannelTable(["canary"])
        var held: [String: Int] = ["canary": 0]
        var random = SystemRandomNumberGenerator()
        for round in 1...20_000 {
            let name = "{p\(round % 7)}:events:\(Int.random(in: 0..<300, using: &random))"
            if Bool.random(using: &random) {
                expect(table.insert(Array(name.utf8), index: round), equals: held[name] == nil)
                if held[name] == nil { held[name] = round }
            } else {
                expect(table.remove(Array(name.utf8)), equals: held.removeValue(forKey: name) != nil)
            }
            expect(table.count, equals: held.count)
        }
        for partition in 0..<7 {
            for number in 0..<300 {
                let name = "{p\(partition)}:events:\(number)"
                let place = Array(name.utf8).withUnsafeBytes { table.place(of: $0) }
                expect(place.map { table[$0].index }, equals: held[name])
            }
        }
    }

    @Test func `of many channels some are asked for at a time, in their order, each way in a command of its own`() {
        var channels = FollowedChannels()
        for number in 0..<5_000 { channels.follow(Array("\(number)".utf8), isConnected: true) }
        var sent = 0
        while let command = channels.next() {
            expect(command[0] == "SUBSCRIBE" && command.count - 1 <= FollowedChannels.batch)
            expect(command[1], equals: .bytes(Array("\(sent)".utf8)))
            sent += command.count - 1
        }
        expect(sent == FollowedChannels.window && channels.underWay == 5_000)
        while sent > 0 || channels.underWay > 0 {
            channels.confirm(.followed)
            sent -= 1
            if let command = channels.next() { sent += command.count - 1 }
        }
        channels.leave(Array("1".utf8), isConnected: true)
        channels.follow(Array("new".utf8), isConnected: true)
        expect(channels.next(), equals: ["UNSUBSCRIBE", .bytes(Array("1".utf8))])
        expect(channels.next(), equals: ["SUBSCRIBE", .bytes(Array("new".utf8))])
        expect(channels.count == 5_000 && channels.isRestored)
        channels.restart()
        expect(channels.underWay == 5_000 && !channels.isRestored)
    }

    @Test func `names that look the same but have other bytes are two channels`() {
        let (composed, decomposed) = ("jos\u{E9}", "jose\u{301}")
        let table = ChannelTable([composed, decomposed])
        expect(Array(decomposed.utf8).withUnsafeBytes { table.place(of: $0) }, equals: 1)
    }

    @Test func `pending commands come out in their order, however they go in`() {
        var commands = PendingCommands()
        var added: UInt64 = 0
        var taken: UInt64 = 0
        for round in 0..<3_000 {
            for _ in 0..<(round % 5) {
                commands.append(.init(reply: { _ in }, start: added, size: 1, since: 0, sentAt: 0))
                added += 1
            }
            for _ in 0..<(round % 3) {
                guard let command = commands.takeFirst() else { break }
                expect(command.start, equals: taken)
                taken += 1
            }
            expect(commands.count, equals: Int(added - taken))
        }
        expect(commands.oldest?.start, equals: taken)
        expect(commands.takeAll().map(\.start), equals: Array(taken..<added))
        expect(commands.isEmpty && commands.takeFirst() == nil)
    }
}

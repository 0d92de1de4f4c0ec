import Testing

@testable import Redis

struct StructureTests {
    @Test func `a channel is found by its bytes`() {
        let names = (0..<128).map { "{p\($0)}:events" }
        let table = ChannelTable(names)
        for (index, name) in names.enumerated() {
            #expect(Array(name.utf8).withUnsafeBytes { table.place(of: $0) } == index)
        }
        #expect(Array("{p128}:events".utf8).withUnsafeBytes { table.place(of: $0) } == nil)
        #expect([UInt8]().withUnsafeBytes { table.place(of: $0) } == nil)
    }

    @Test func `names that look the same but have other bytes are two channels`() {
        let (composed, decomposed) = ("jos\u{E9}", "jose\u{301}")
        let table = ChannelTable([composed, decomposed])
        #expect(Array(decomposed.utf8).withUnsafeBytes { table.place(of: $0) } == 1)
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
                #expect(command.start == taken)
                taken += 1
            }
            #expect(commands.count == Int(added - taken))
        }
        #expect(commands.oldest?.start == taken)
        #expect(commands.takeAll().map(\.start) == Array(taken..<added))
        #expect(commands.isEmpty && commands.takeFirst() == nil)
    }
}

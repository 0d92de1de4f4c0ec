import EventLoops
import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import TestSupport
import Testing

/// Messages when servers and clients are killed, and when a server no longer has the data that a client requests.
@Suite(.timeLimit(.minutes(3))) struct MessageRecoveryTests {
    @Test(arguments: [1, 2])
    func `kill -9 of client and server loses no message that was promised, doubles none and keeps the order`(
        seed: UInt64
    ) async throws {
        let server = try await Presenced()
        let reader = PresenceMessenger(server.client("bob"))
        let places = try await [
            reader.directConversation(with: "ana").id, reader.createGroup(with: ["ana", "cy"], name: "Trip").id,
        ]
        let directory = try TemporaryDirectory()
        let writer = try await Writer(server, token: server.token("ana"), places: places, directory: directory)
        var promised: Set<Int> = []
        for round in 0..<4 {
            // One that was stored and not promised may be there.
            let stored = try await Self.all(reader, in: places).joined().compactMap { Int($0.text) }
            let first = max(promised.max() ?? 0, stored.max() ?? 0) + 2
            let count = 20 + Int((seed &* 7 &+ UInt64(round) &* 13) % 30)
            promised.formUnion(
                try await writer.write(from: first, killAfter: count) {
                    // In every other round the server dies first, with messages in flight.
                    if round % 2 == 1 { server.kill() }
                })
            if round % 2 == 1 { try await server.start() }
        }
        try await expect(writer.drain(), equals: 0)
        let all = try await Self.all(reader, in: places)
        for messages in all {
            let numbers = messages.compactMap { Int($0.text) }
            expect(numbers, equals: numbers.sorted(), "a later message came before an earlier one")
            expect(Set(numbers).count, equals: messages.count, "a message is there twice")
            expect(messages.map(\.sequence), equals: (1...Int64(messages.count)).map { $0 }, "numbers have gaps")
        }
        let lost = promised.subtracting(all.joined().compactMap { Int($0.text) })
        expect(lost.isEmpty && promised.count >= 80, "promised ones are lost")
        try await expect(server.stop(), equals: 0)
    }

    @Test func `kill -9 of client and server loses no change that was promised, makes none twice and keeps the order`()
        async throws
    {
        let server = try await Presenced()
        let reader = PresenceMessenger(server.client("bob"))
        let places = try await [
            reader.directConversation(with: "ana").id, reader.createGroup(with: ["ana", "cy"], name: "Trip").id,
        ]
        let directory = try TemporaryDirectory()
        let writer = try await Writer(server, token: server.token("ana"), places: places, directory: directory)
        var promised: Set<String> = []
        for round in 0..<4 {
            let known = promised.compactMap { $0.split(separator: ".").first.flatMap { Int($0) } }
            promised.formUnion(
                try await writer.promises(["changes", "\((known.max() ?? 0) + 2)"], killAfter: 15 + 4 * round) {
                    if round % 2 == 1 { server.kill() }
                })
            if round % 2 == 1 { try await server.start() }
        }
        try await expect(writer.drain(), equals: 0)
        for message in try await Self.all(reader, in: places).joined() {
            let edits = message.editHistory?.map(\.text) ?? []
            guard !message.isDeleted else {
                expect(message.editCount, equals: 3, "an edit is lost, or there twice")
                continue
            }
            let number = message.text.split(separator: ".")[0]
            let all = (0...message.editCount).map { $0 == 0 ? "\(number)" : "\(number).\($0)" }
            expect(edits + [message.text], equals: all, "edits are out of order, or there twice")
            for edit in 1...3 where edit > message.editCount {
                expect(!promised.contains("\(number).\(edit)"), "an edit is lost")
            }
            expect(!promised.contains("\(number).d"), "a deletion is lost")
        }
        expect(promised.count >= 60)
        try await expect(server.stop(), equals: 0)
    }

    @Test func `a client away beyond the kept messages gets the newest page, and pages back to the first kept`()
        async throws
    {
        let server = try await Presenced(settings: ["messages.keepPerConversation": "100"])
        let (ana, away) = (PresenceMessenger(server.client("ana")), server.client("bob"))
        let bob = PresenceMessenger(away)
        let id = try await ana.directConversation(with: "bob").id
        let waiting = Sightings(ana.waiting)
        let shown = Sightings(bob.messages(in: id))
        for number in 1...60 { try await ana.send("\(number)", in: id) }
        try await shown.until("all") { $0.last?.text == "60" }
        away.networkChanged(isAvailable: false)
        for number in 61...220 { try await ana.send("\(number)", in: id) }
        try await waiting.until("all is sent") { $0 == 0 }
        away.networkChanged(isAvailable: true)
        let reset = try await shown.until("the newest page alone") { $0.last?.text == "220" }
        expect(reset.map(\.text), equals: (171...220).map { "\($0)" })
        try await expect(bob.loadEarlier(in: id, limit: 40))
        try await expect(bob.loadEarlier(in: id, limit: 40), equals: false)
        let all = try await shown.until("all that is kept") { $0.count == 100 }
        expect(all.map(\.text), equals: (121...220).map { "\($0)" })
        try await expect(server.stop(), equals: 0)
    }

    @Test func `a server that is killed and started again is followed on, with edits and marks of that time`()
        async throws
    {
        let server = try await Presenced()
        let (ana, bob) = (PresenceMessenger(server.client("ana")), PresenceMessenger(server.client("bob")))
        let id = try await ana.directConversation(with: "bob").id
        let (own, other) = (Sightings(ana.messages(in: id)), Sightings(bob.messages(in: id)))
        for number in 1...5 { try await ana.send("\(number)", in: id) }
        try await other.until("five") { $0.count == 5 && $0.allSatisfy { $0.sequence != nil } }
        let sent = try await own.until("delivered") { $0.count == 5 && $0.last?.status == .delivered }

        server.kill()
        try await ana.send("6", in: id)
        try await bob.send("7", in: id)
        await bob.markRead(in: id)
        try await server.start()
        let both = try await own.until("what was written meanwhile, read") {
            $0.count == 7 && $0.allSatisfy { $0.sequence != nil } && $0[4].status == .read
        }
        expect(Set(both.suffix(2).map(\.text)), equals: ["6", "7"])
        try await ana.edit(sent[0], text: "one")
        try await ana.delete(sent[1])
        let last = try await other.until("both changes") { $0.first?.text == "one" && $0[1].isDeleted }
        expect(last.map(\.sequence) == (1...7).map { $0 } && Set(last.map(\.id)).count == 7)
        try await expect(server.stop(), equals: 0)
    }

    // MARK: Support

    /// All messages of each conversation, by pages from the end.
    private static func all(_ reader: PresenceMessenger, in places: [String]) async throws -> [[Message]] {
        var all: [[Message]] = []
        for place in places {
            var messages: [Message] = []
            while messages.first?.sequence != 1 {
                let page = try await page(reader, place, before: messages.first?.sequence)
                guard !page.isEmpty else { break }
                messages = page + messages
            }
            all.append(messages)
        }
        return all
    }

    /// A page, as soon as there is a connection.
    private static func page(
        _ reader: PresenceMessenger, _ place: String, before: Int64?
    ) async throws -> [Message] {
        while true {
            do {
                return try await reader.getMessages(in: place, before: before, limit: 30)
            } catch let error as PresenceError where [.notConnected, .connectionLost].contains(error.code) {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// A process that writes, of the user ana.
    private struct Writer {
        let url: URL
        let directory: TemporaryDirectory
        let environment: [String: String]

        init(_ server: Presenced, token: String, places: [String], directory: TemporaryDirectory) {
            url = server.url
            self.directory = directory
            environment = ["MESSAGE_TOKEN": token, "MESSAGE_PLACES": places.joined(separator: " ")]
        }

        /// Lets it write until this many messages are promised, and kills it. Returns the promised ones. `halfway` is
        /// called before.
        func write(from first: Int, killAfter count: Int, halfway: () -> Void) async throws -> Set<Int> {
            Set(try await promises(["\(first)"], killAfter: count, halfway: halfway).compactMap { Int($0) })
        }

        /// The same with other orders.
        func promises(_ orders: [String], killAfter count: Int, halfway: () -> Void) async throws -> Set<String> {
            let (lines, line) = AsyncStream<String>.makeStream()
            let process = try ChildProcess(
                [Self.program, url.absoluteString, directory.path] + orders, environment: environment
            ) { text in
                if let text { line.yield(text) } else { line.finish() }
            }
            var promises: Set<String> = []
            for await text in lines {
                promises.insert(String(try #require(text.split(separator: " ").last)))
                if promises.count == count / 2 { halfway() }
                if promises.count == count { process.signal(SIGKILL) }
            }
            try await expect(Patience.end(of: process), equals: 128 + SIGKILL)
            return promises
        }

        /// Lets it send the waiting messages.
        func drain() async throws -> Int32 {
            let process = try ChildProcess(
                [Self.program, url.absoluteString, directory.path, "drain"], environment: environment)
            return try await Patience.end(of: process)
        }

        /// Beside the tests in the build directory.
        private static let program: String = {
            let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
            let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") } + [tests]
            let candidates = bundles.map { URL(filePath: $0).deletingLastPathComponent().path + "/message-writer" }
            return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
                ?? ".build/debug/message-writer"
        }()
    }
}

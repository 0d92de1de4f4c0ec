import EventLoops
import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceTesting

/// A process that writes messages is killed at any moment: promised messages are neither lost nor stored twice.
@Suite(.timeLimit(.minutes(1))) struct KillTests {
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `kill -9 at any moment loses and duplicates no promised message`(seed: UInt64) async throws {
        var random = Seeded(state: seed)
        let directory = try TemporaryDirectory()
        let model = InMemoryServer.with(["a": ["ana", "bob"], "b": ["ana", "bob"]])
        let server = try SocketMessageServer(model)
        defer { server.stop() }
        var promised = 0
        for _ in 0..<5 {
            model.cut("send", Bool.random(using: &random) ? .before : .after)
            promised = max(
                promised,
                try await Self.write(
                    // A message may be stored although its call had not returned.
                    from: max(promised, Self.newest(model)) + 2, to: server.url, in: directory,
                    killAfter: Int.random(in: 1...40, using: &random)))
        }
        let draining = try ChildProcess([Self.program, server.url.absoluteString, directory.path, "drain"])
        await expect(draining.status(), equals: 0)
        let texts = ["a", "b"].map { model.texts(in: $0).compactMap(Int.init) }
        for numbers in texts {
            expect(numbers, equals: numbers.sorted(), "a later message came before an earlier one")
            expect(Set(numbers).count, equals: numbers.count, "a message is there twice")
        }
        let stored = Set(texts.joined())
        expect(Self.kept.withLock { $0[directory.path] ?? [] }.subtracting(stored).isEmpty, "a promised one is lost")
        expect(promised > 0)
    }

    @Test(arguments: [5, 6, 7] as [UInt64])
    func `kill -9 at any moment loses and repeats no promised change, and keeps the order`(
        seed: UInt64
    ) async throws {
        var random = Seeded(state: seed)
        let directory = try TemporaryDirectory()
        let model = InMemoryServer.with(["a": ["ana", "bob"], "b": ["ana", "bob"]])
        let server = try SocketMessageServer(model)
        defer { server.stop() }
        let began = Int(InMemoryServer.beginning)
        var promised: Set<String> = []
        for _ in 0..<4 {
            for type in ["editMessage", "deleteMessage", "conversationSettings"] {
                model.cut(type, Bool.random(using: &random) ? .before : .after)
            }
            // A change may be stored although its call had not returned: at most one more.
            let known = promised.compactMap { $0.split(separator: ".").first.flatMap { Int($0) } }
            promised.formUnion(
                try await Self.promises(
                    ["changes", "\((known.max() ?? 0) + 2)"], to: server.url, in: directory,
                    killAfter: Int.random(in: 3...40, using: &random)))
        }
        let draining = try ChildProcess([Self.program, server.url.absoluteString, directory.path, "drain"])
        await expect(draining.status(), equals: 0)
        expect(promised.count >= 12)
        for place in ["a", "b"] {
            for message in model.state.withLock({ $0.talks[place]!.log }) { Self.check(message, promised) }
            let until = model.state.withLock { $0.talks[place]!.settings["ana"]?["mutedUntil"] as? Int } ?? began
            let settled = promised.filter { $0.hasSuffix(".m") }.compactMap { Int($0.dropLast(2)) }
            let newest = settled.filter { ($0 % 2 == 0) == (place == "a") }.max() ?? 0
            // The server's clock stands still, so a mute is shorter by the time since it was chosen. The one before it is
            // shorter by 2,000,000 ms.
            expect(until - began > (newest - 1) * 1_000_000, "a setting is lost, or an older one came after it")
        }
        let made = ["a", "b"].reduce(0) { count, place in count + model.state.withLock { $0.talks[place]!.log.count } }
        expect(made >= promised.filter { $0.hasSuffix(".0") }.count)
    }

    /// Checks that its edits are there once and in order, including all promised ones.
    private static func check(_ message: InMemoryServer.Object, _ promised: Set<String>) {
        let edits = (message["edits"] as? [InMemoryServer.Object] ?? []).compactMap { $0["text"] as? String }
        let text = message["text"] as? String ?? ""
        guard message["deletedAt"] == nil else {
            expect(message["editCount"] as? Int, equals: 3, "an edit is lost, or there twice: \(message)")
            return
        }
        let number = text.split(separator: ".")[0]
        let last = text.contains(".") ? Int(text.split(separator: ".")[1])! : 0
        let all = ["\(number)"] + (0..<last).map { "\(number).\($0 + 1)" }
        expect(edits + [text] == all && message["editCount"] as? Int ?? 0 == last, "edits out of order: \(message)")
        for edit in 1...3 where edit > last { expect(!promised.contains("\(number).\(edit)"), "an edit is lost") }
        expect(!promised.contains("\(number).d"), "a deletion is lost")
    }

    /// SplitMix64 (Steele, Lea, Flood).
    struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static func newest(_ model: InMemoryServer) -> Int {
        ["a", "b"].flatMap { model.texts(in: $0) }.compactMap { Int($0) }.max() ?? 0
    }

    /// The promised messages, by directory.
    private static let kept = Locked<[String: Set<Int>]>([:])

    /// Lets a process write until this many messages are promised, and kills it; returns the last promised one.
    private static func write(
        from first: Int, to url: URL, in directory: TemporaryDirectory, killAfter count: Int
    ) async throws -> Int {
        let numbers = try await promises(["\(first)"], to: url, in: directory, killAfter: count).compactMap { Int($0) }
        kept.withLock { $0[directory.path, default: []].formUnion(numbers) }
        return numbers.max() ?? 0
    }

    /// The same with other arguments; returns the promises.
    private static func promises(
        _ orders: [String], to url: URL, in directory: TemporaryDirectory, killAfter count: Int
    ) async throws -> [String] {
        let (lines, line) = AsyncStream<String>.makeStream()
        let process = try ChildProcess([program, url.absoluteString, directory.path] + orders) { text in
            if let text { line.yield(text) } else { line.finish() }
        }
        var promises: [String] = []
        for await text in lines {
            promises.append(String(text.split(separator: " ")[1]))
            if promises.count == count { process.signal(SIGKILL) }
        }
        await expect(process.status(), equals: 128 + SIGKILL)
        return promises
    }

    /// In the build directory, beside the tests.
    private static let program: String = {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") } + [tests]
        let candidates = bundles.map { URL(filePath: $0).deletingLastPathComponent().path + "/message-writer" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) } ?? ".build/debug/message-writer"
    }()
}

import EventLoops
import Foundation
import TestSupport
import Testing

/// A process that writes messages is killed at any moment: what it was promised is neither lost nor stored twice.
@Suite(.timeLimit(.minutes(1))) struct KillTests {
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `kill -9 at any moment loses no message that was promised and doubles none`(seed: UInt64) async throws {
        var random = Seeded(state: seed)
        let directory = try TemporaryDirectory()
        let model = MessageServer(["a": ["ana", "bob"], "b": ["ana", "bob"]])
        let server = try SocketMessageServer(model)
        defer { server.stop() }
        var promised = 0
        for _ in 0..<5 {
            model.cut("send", Bool.random(using: &random) ? .before : .after)
            promised = max(
                promised,
                try await Self.write(
                    // One that was stored and not promised may be there.
                    from: max(promised, Self.newest(model)) + 2, to: server.url, in: directory,
                    killAfter: Int.random(in: 1...40, using: &random)))
        }
        let draining = try ChildProcess([Self.program, server.url.absoluteString, directory.path, "drain"])
        #expect(await draining.status() == 0)
        let texts = ["a", "b"].map { model.texts(in: $0).compactMap(Int.init) }
        for numbers in texts {
            #expect(numbers == numbers.sorted(), "a later message came before an earlier one")
            #expect(Set(numbers).count == numbers.count, "a message is there twice")
        }
        let stored = Set(texts.joined())
        #expect(Self.kept.withLock { $0[directory.path] ?? [] }.subtracting(stored).isEmpty, "a promised one is lost")
        #expect(promised > 0)
    }

    /// Steele, Lea, Flood: SplitMix64.
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static func newest(_ model: MessageServer) -> Int {
        ["a", "b"].flatMap { model.texts(in: $0) }.compactMap { Int($0) }.max() ?? 0
    }

    /// What each directory's processes were promised.
    private static let kept = Locked<[String: Set<Int>]>([:])

    /// Lets a process write until it was promised so many, and kills it; the last that was promised.
    private static func write(
        from first: Int, to url: URL, in directory: TemporaryDirectory, killAfter count: Int
    ) async throws -> Int {
        let (lines, line) = AsyncStream<String>.makeStream()
        let process = try ChildProcess([program, url.absoluteString, directory.path, "\(first)"]) { text in
            if let text { line.yield(text) } else { line.finish() }
        }
        var numbers: [Int] = []
        for await text in lines {
            numbers.append(Int(text.split(separator: " ")[1]) ?? 0)
            if numbers.count == count { process.signal(SIGKILL) }
        }
        #expect(await process.status() == 128 + SIGKILL)
        kept.withLock { [numbers] in $0[directory.path, default: []].formUnion(numbers) }
        return numbers.max() ?? 0
    }

    /// Beside the tests in the build directory.
    private static let program: String = {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") } + [tests]
        let candidates = bundles.map { URL(filePath: $0).deletingLastPathComponent().path + "/message-writer" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) } ?? ".build/debug/message-writer"
    }()
}

import Expectations
import Foundation
import PresenceProtocol
import TestSupport
import Testing

@testable import PresenceKit

/// A writing process is killed at any moment: acknowledged writes are neither lost nor made twice.
@Suite(.timeLimit(.minutes(3))) struct KillTests {
    /// The names that the server received, in order, and the ones that it acknowledged.
    private actor Heard {
        private(set) var names: [Int] = []
        private(set) var answered: Set<Int> = []

        func record(_ name: Int) { names.append(name) }
        func recordAnswer(_ name: Int) { answered.insert(name) }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func `kill -9 at any moment loses nothing that was answered and repeats nothing`(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        let directory = try TemporaryDirectory()
        let heard = Heard()
        try await withSocketServer { server in
            let serving = Task { await Self.serve(server, heard, SeededGenerator(state: seed + 100)) }
            var promised = 0
            var saved: Set<Int> = []
            for _ in 0..<6 {
                let before = await heard.names.count
                let former = saved
                let answers = try await Self.write(
                    from: max(promised, await heard.names.max() ?? 0) + 1, to: server.url, in: directory,
                    killAfter: Int.random(in: 1...45, using: &random))
                promised = max(promised, answers.map(\.number).max() ?? 0)
                saved.formUnion(answers.filter(\.isSaved).map(\.number))
                let repeated = await heard.names[before...].filter(former.contains)
                expect(repeated.isEmpty, "saved in an earlier process, and sent again")
            }
            try await Self.drain(server.url, directory)
            serving.cancel()
            await serving.value
            let names = await heard.names
            expect(names, equals: names.sorted(), "an older change came after a newer one")
            expect((names.last ?? 0) >= promised, "the last one that was promised")
            await expect(heard.answered.isSuperset(of: saved))
            expect(promised > 0)
        }
    }

    /// Answers changes, and sometimes breaks the connection before or after it has applied one. Like a real server it
    /// has one connection for each device: messages of a former one are not applied.
    private static func serve(_ server: SocketServer, _ heard: Heard, _ generator: SeededGenerator) async {
        var random = generator
        var present: SocketServer.Peer?
        while let (peer, message) = await server.messageUnlessCancelled() {
            switch message.body {
            case .connect:
                present = peer
                server.accept(message, from: peer)
            case .updateProfile(let changes):
                guard peer == present, case .set(let name) = changes.displayName, let number = Int(name) else {
                    continue
                }
                await heard.record(number)
                if Int.random(in: 0..<8, using: &random) == 0 {
                    server.abort(peer)
                } else {
                    await heard.recordAnswer(number)
                    server.send(.profileUpdated(id: message.id, Profile(version: 1, displayName: name)), to: peer)
                }
            default: break
            }
        }
    }

    /// Lets a process write until this many changes are acknowledged, and kills it.
    private static func write(
        from first: Int, to url: URL, in directory: TemporaryDirectory, killAfter count: Int
    ) async throws -> [(number: Int, isSaved: Bool)] {
        let (lines, line) = AsyncStream<String>.makeStream()
        let process = try ChildProcess([program, url.absoluteString, directory.path, "\(first)"]) { text in
            if let text { line.yield(text) } else { line.finish() }
        }
        var answers: [(number: Int, isSaved: Bool)] = []
        for await text in lines {
            let words = text.split(separator: " ")
            answers.append((Int(words[1]) ?? 0, words[0] == "saved"))
            if answers.count == count { process.signal(SIGKILL) }
        }
        await expect(process.status(), equals: 128 + SIGKILL)
        return answers
    }

    /// Sends the queued writes.
    private static func drain(_ url: URL, _ directory: TemporaryDirectory) async throws {
        let process = try ChildProcess([program, url.absoluteString, directory.path, "drain"])
        await expect(process.status(), equals: 0)
    }

    /// In the build directory, beside the tests.
    private static let program: String = {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") } + [tests]
        let candidates = bundles.map { URL(filePath: $0).deletingLastPathComponent().path + "/kit-writer" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) } ?? ".build/debug/kit-writer"
    }()
}

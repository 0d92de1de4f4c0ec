import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceAccounts

/// The file with the stored session.
@Suite(.timeLimit(.minutes(1))) struct TokenStoreTests {
    private let directory: TemporaryDirectory
    private let store: FileTokenStore
    private var path: String { directory.file("state/session") }

    init() throws {
        directory = try TemporaryDirectory()
        store = FileTokenStore(URL(fileURLWithPath: directory.file("state/session")))
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `the stored session is readable only by its owner`() throws {
        try expect(store.load(), equals: nil)
        try store.save(Bench.kept)
        try expect(store.load(), equals: Bench.kept)
        try expect(mode(path), equals: 0o600)
        try expect(mode(directory.file("state")), equals: 0o700)
        try expect(FileManager.default.contentsOfDirectory(atPath: directory.file("state")), equals: ["session"])
        try store.clear()
        try store.clear()
        try expect(store.load(), equals: nil)
    }

    @Test func `a file is replaced, not overwritten`() throws {
        try store.save(Bench.kept)
        let reader = try #require(FileHandle(forReadingAtPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        var newer = Bench.kept
        newer.refreshToken = "newer"
        // A file that a killed process left, readable by all.
        expect(
            FileManager.default.createFile(
                atPath: path + ".new", contents: Data(), attributes: [.posixPermissions: 0o666]))
        try store.save(newer)
        try expect(store.load()?.refreshToken, equals: "newer")
        try expect(mode(path), equals: 0o600)
        let former = String(decoding: try #require(try reader.readToEnd()), as: UTF8.self)
        expect(former.contains("r-1-0") && !former.contains("newer"))
    }

    @Test(arguments: ["damaged", "later", "empty", "array", "another"])
    func `a session that can never be read is set aside, and no user is signed in`(kind: String) async throws {
        try store.save(Bench.kept)
        let whole = try #require(FileManager.default.contents(atPath: path))
        let text = String(decoding: whole, as: UTF8.self)
        let damaged: Data =
            switch kind {
            case "damaged": whole.prefix(100)
            case "later": Data(text.replacing("\"format\":1", with: "\"format\":2").utf8)
            case "empty": Data()
            case "array": Data("[1]".utf8)
            default: Data(#"{"format":1,"session":{"refreshToken":7}}"#.utf8)
            }
        try damaged.write(to: URL(fileURLWithPath: path))
        let bench = Bench()
        let account = PresenceAccount(
            url: URL(string: "https://presence.example.org")!, store: store, transport: bench.transport)
        await account.reaches { $0 == .signedOut(.notSignedIn) }
        let aside = path + (kind == "later" ? ".later" : ".damaged")
        expect(FileManager.default.contents(atPath: aside), equals: damaged)
        expect(!FileManager.default.fileExists(atPath: path))
        try await account.signIn(email: "ana@example.org", password: "correct horse")
        try expect(store.load()?.refreshToken, equals: "r-2-0")
        try await account.signOut()
        try expect(FileManager.default.contentsOfDirectory(atPath: directory.file("state")), equals: [])
    }

    @Test func `an unreadable file is an error`() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(throws: (any Error).self) { try store.load() }
        let error = #expect(throws: PresenceError.self) { try store.save(Bench.kept) }
        expect(error?.code, equals: .storageFailed)
        expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test func `farewells are stored readable only by their owner, until there are none`() throws {
        try expect(store.loadFarewells(), equals: [])
        try store.saveFarewells(["a", "b"])
        try expect(store.loadFarewells(), equals: ["a", "b"])
        try expect(mode(path + ".farewells"), equals: 0o600)
        try store.saveFarewells([])
        try store.saveFarewells([])
        try expect(store.loadFarewells(), equals: [])
        try store.clear()
        try expect(FileManager.default.contentsOfDirectory(atPath: directory.file("state")), equals: [])
    }

    @Test(arguments: 1...4) func `kill -9 at any moment leaves the newest session or the one before it`(
        round: Int
    ) async throws {
        var kept = 0
        for _ in 0..<5 {
            let (lines, line) = AsyncStream<String>.makeStream()
            let process = try ChildProcess([Self.program, path, "\(kept + 1)"]) { text in
                if let text { line.yield(text) } else { line.finish() }
            }
            let count = Int.random(in: 1...(40 * round))
            var told = 0
            for await text in lines {
                told = try #require(Int(text))
                if told - kept == count { process.signal(SIGKILL) }
            }
            await expect(process.status(), equals: 128 + SIGKILL)
            let found = try #require(try store.load())
            let number = try #require(Int(found.refreshToken))
            expect(number == told || number == told + 1, "what was told is kept")
            expect(found.account.id == "u-\(number)" && found.account.email?.count == number * 37 % 900 + 12)
            kept = number
        }
    }

    /// In the build directory, beside the tests.
    private static let program: String = {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") } + [tests]
        let candidates = bundles.map { URL(filePath: $0).deletingLastPathComponent().path + "/session-writer" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) } ?? ".build/debug/session-writer"
    }()
}

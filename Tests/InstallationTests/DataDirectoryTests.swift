import Expectations
import Foundation
import TestSupport
import Testing

@testable import Installation
@testable import Tokens

@Suite struct DataDirectoryTests {
    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func `it is made for its owner alone, and so is the secret`() throws {
        let scratch = try ScratchDirectory()
        let directory = try DataDirectory(scratch.path + "/a/b")
        try expect(mode(directory.path), equals: 0o700)
        let secret = try directory.secret()
        try expect(mode(directory.secretFile), equals: 0o600)
        try expect(directory.secret().text, equals: secret.text)
        try expect(FileManager.default.contentsOfDirectory(atPath: directory.path), equals: ["secret"])
    }

    @Test func `many concurrent first callers all get the same secret`() async throws {
        let scratch = try ScratchDirectory()
        let directory = try DataDirectory(scratch.path)
        let secrets = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try directory.secret().text } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        expect(secrets.count, equals: 1)
        try expect(FileManager.default.contentsOfDirectory(atPath: directory.path), equals: ["secret"])
    }

    /// The second one is a possible file after a power cut.
    @Test(arguments: [Data("short\n".utf8), Data(count: 44), Data(repeating: 0xFF, count: 44)])
    func `a file that holds no secret is an error and not replaced`(content: Data) throws {
        let scratch = try ScratchDirectory()
        let directory = try DataDirectory(scratch.path)
        let file = try scratch.write("", to: "secret")
        try content.write(to: URL(fileURLWithPath: file))
        #expect(throws: StartFailure.self) { try directory.secret() }
        try expect(Data(contentsOf: URL(fileURLWithPath: file)), equals: content)
    }

    @Test func `a path that is not a directory is an error that names it`() throws {
        let scratch = try ScratchDirectory()
        let file = try scratch.write("", to: "file")
        for path in [file, file + "/below"] {
            #expect { try DataDirectory(path) } throws: { "\($0)".contains(path) }
        }
    }

    @Test func `only one process may lock it, and the other gets its id`() throws {
        let scratch = try ScratchDirectory()
        let directory = try DataDirectory(scratch.path)
        var lock: DirectoryLock? = try DirectoryLock(directory)
        #expect { try DirectoryLock(directory) } throws: {
            "\($0)".contains(directory.path) && "\($0)".contains("process \(getpid())")
        }
        withExtendedLifetime(lock) {}
        lock = nil
        _ = try DirectoryLock(directory)
    }

    @Test func `the standard place is the user's own, or the system's for root`() {
        let path = DataDirectory.standardPath(environment: ["HOME": "/home/ana"])
        let chosen = DataDirectory.standardPath(environment: ["HOME": "/home/ana", "XDG_DATA_HOME": "/data"])
        if geteuid() == 0 {
            expect(path == "/var/lib/presence" && chosen == path)
        } else {
            expect(path == "/home/ana/.local/share/presence" && chosen == "/data/presence")
        }
    }
}

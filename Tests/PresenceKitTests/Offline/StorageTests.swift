import Expectations
import Foundation
import PresenceProtocol
import TestSupport
import Testing

@testable import PresenceKit

/// Data on disk.
@Suite struct StorageTests {
    private let directory: TemporaryDirectory
    private var url: URL { URL(fileURLWithPath: directory.file("storage")) }

    init() throws { directory = try TemporaryDirectory() }

    private static func person(_ user: UserID, _ version: Int64 = 1) -> CachedPerson {
        CachedPerson(
            user: user, asOf: Date(timestamp: 5_000), presence: Presence(version: version, status: .away),
            profile: .profile(Profile(version: version, displayName: "\(user.string) \(version)")))
    }

    private static func write(_ id: String, owner: String? = "ana", lane: String = "c1") -> QueuedWrite {
        QueuedWrite(
            id: id, owner: owner, lane: lane, kind: "message", body: Data("text \(id)".utf8),
            queuedAt: Date(timestamp: 1_000))
    }

    /// Opens a storage that is closed soon after this returns.
    private func opened<Result>(
        people: Int = 10_000, writes: Int = 10_000, _ body: (Storage) async throws -> Result
    ) async throws -> Result {
        while true {
            let storage: Storage
            do {
                storage = try Storage.directory(url, people: people, writes: writes)
            } catch let error as PresenceError where error.code == .storageInUse {
                await Task.yield()
                continue
            }
            return try await body(storage)
        }
    }

    @Test func `users are there after a launch, with their newest values`() async throws {
        try await opened { storage in
            await storage.cache.write([Self.person("bob", 1), Self.person("cy", 1)])
            await storage.cache.write([Self.person("bob", 2)])
        }
        let found = try await opened { await $0.cache.read(["cy", "bob", "dan"]) }
        expect(found, equals: [Self.person("cy", 1), Self.person("bob", 2)])
    }

    @Test func `a library's records are there after a launch, with their newest values`() async throws {
        try await opened { storage in
            await storage.history.write([("a", Data("1".utf8)), ("b", Data("2".utf8))], erasing: false)
            await storage.history.write([("a", Data("3".utf8)), ("b", nil), ("", Data([0]))], erasing: false)
        }
        try await expect(opened { await $0.history.load() }, equals: ["a": Data("3".utf8), "": Data([0])])
        try await opened { try await $0.history.removeAll() }
        try await expect(opened { await $0.history.load() }.isEmpty)
    }

    @Test func `erased records are not on the disk, and others stay`() async throws {
        try await opened { storage in
            await storage.history.write([("a", Data("secret".utf8)), ("b", Data("2".utf8))], erasing: false)
            await storage.history.write([("a", nil)], erasing: true)
        }
        let file = try Data(contentsOf: url.appendingPathComponent("history"))
        expect(file.range(of: Data("secret".utf8)), equals: nil)
        try await expect(opened { await $0.history.load() }, equals: ["b": Data("2".utf8)])
    }

    @Test func `records that change often do not grow without bound`() async throws {
        let value = Data(repeating: 7, count: 1_000)
        try await opened { storage in
            for round in 0..<2_000 { await storage.history.write([("k\(round % 20)", value)], erasing: false) }
        }
        let path = url.appendingPathComponent("history").path
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? .max
        expect(size <= (256 << 10) + 2_000)
        try await expect(opened { await $0.history.load() }.count, equals: 20)
    }

    @Test func `a record that is too long for the file is dropped, and those behind it stay`() async throws {
        try await opened { storage in
            let long = Data(repeating: 1, count: Journal.longestRecord)
            await storage.history.write([("a", Data([1])), ("a", long), ("b", Data([2]))], erasing: false)
        }
        try await expect(opened { await $0.history.load() }, equals: ["b": Data([2])])
    }

    @Test func `a full cache evicts the least recently updated users, on disk too`() async throws {
        try await opened(people: 4) { storage in
            for number in 1...5 { await storage.cache.write([Self.person(UserID("u\(number)")!)]) }
        }
        let found = try await opened { await $0.cache.read((1...5).map { "u\($0)" }).map(\.user) }
        expect(found, equals: ["u3", "u4", "u5"])
    }

    @Test func `a smaller capacity applies from the opening, on disk too`() async throws {
        let users = (1...40).map { "u\($0)" }
        try await opened { storage in
            await storage.cache.write(users.map { Self.person(UserID($0)!) })
        }
        func size() throws -> Int {
            let path = url.appendingPathComponent("people").path
            return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? .max
        }
        let before = try size()
        let left = try await opened(people: 8) { await $0.cache.read(users).map(\.user) }
        expect(left, equals: users.suffix(6))
        try expect(size() < before / 5)
        try await expect(opened { await $0.cache.read(users).map(\.user) }, equals: left)
    }

    @Test func `a cache with many changes does not grow without bound`() async throws {
        try await opened { storage in
            for round in 1...300 {
                await storage.cache.write((1...20).map { Self.person(UserID("u\($0)")!, Int64(round)) })
            }
        }
        let size = try FileManager.default.attributesOfItem(atPath: url.appendingPathComponent("people").path)[.size]
        expect((size as? Int ?? .max) <= 300 << 10)
        try await expect(opened { await $0.cache.read(["u7"]) }, equals: [Self.person("u7", 300)])
    }

    @Test func `writes are there after a launch, in order, without completed ones`() async throws {
        try await opened { storage in
            try await storage.writes.setOwner("ana")
            for id in ["1", "2", "3", "4"] { try await storage.writes.append(Self.write(id)) }
            try await storage.writes.remove(["2", "unknown"])
        }
        let (owner, writes) = try await opened { try await $0.writes.load() }
        expect(owner, equals: "ana")
        expect(writes, equals: ["1", "3", "4"].map { Self.write($0) })
    }

    @Test func `a full queue throws and keeps its writes`() async throws {
        for storage in [
            try Storage.directory(url, writes: 2), Storage(cache: PresenceCache(), writes: StoredWrites(capacity: 2)),
        ] {
            try await storage.writes.append(Self.write("1"))
            try await storage.writes.append(Self.write("2"))
            await #expect(throws: StorageError.full(2)) { try await storage.writes.append(Self.write("3")) }
            try await expect(storage.writes.load().writes.map(\.id), equals: ["1", "2"])
        }
    }

    @Test func `a busy queue does not grow without bound`() async throws {
        try await opened { storage in
            try await storage.writes.setOwner("ana")
            for number in 1...1_000 {
                try await storage.writes.append(Self.write("\(number)"))
                try await storage.writes.remove(["\(number)"])
            }
        }
        let size = try FileManager.default.attributesOfItem(atPath: url.appendingPathComponent("writes").path)[.size]
        expect((size as? Int ?? .max) <= 70 << 10)
        try await expect(opened { try await $0.writes.load() }.owner, equals: "ana")
    }

    @Test func `all data of the user is removed, the device's id stays`() async throws {
        let id = try await opened { storage in
            await storage.cache.write([Self.person("bob")])
            try await storage.writes.setOwner("ana")
            try await storage.writes.append(Self.write("1"))
            try await storage.cache.removeAll()
            try await storage.writes.removeAll()
            return storage.deviceID
        }
        try await opened { (storage: Storage) -> Void in
            await expect(storage.cache.read(["bob"]).isEmpty)
            let (owner, writes) = try await storage.writes.load()
            expect(owner == nil && writes.isEmpty)
            expect(storage.deviceID == id && PresenceClient.isValidID(id ?? ""))
        }
    }

    @Test func `on a disk without room for a new file, data can still be removed`() async throws {
        try await opened { storage in
            await storage.cache.write([Self.person("bob")])
            try await storage.writes.setOwner("ana")
            try await storage.writes.append(Self.write("1"))
            for name in ["people.new", "writes.new"] {
                try FileManager.default.createDirectory(
                    at: url.appendingPathComponent(name), withIntermediateDirectories: false)
            }
            try await storage.cache.removeAll()
            try await storage.writes.removeAll()
            try await storage.writes.setOwner("eve")
        }
        try await opened { (storage: Storage) -> Void in
            await expect(storage.cache.read(["bob"]).isEmpty)
            let (owner, writes) = try await storage.writes.load()
            expect(owner == "eve" && writes.isEmpty)
        }
    }

    @Test func `another owner finds nothing of the former one, nor writes without an owner`() async throws {
        for storage in [try Storage.directory(url), .memory()] {
            try await storage.writes.setOwner("ana")
            try await storage.writes.append(Self.write("1"))
            try await storage.writes.append(Self.write("2", owner: nil))
            try await storage.writes.append(Self.write("3", owner: "eve"))
            try await storage.writes.setOwner("eve")
            try await expect(storage.writes.load().writes, equals: [Self.write("3", owner: "eve")])
        }
        try await expect(opened { try await $0.writes.load() }.writes, equals: [Self.write("3", owner: "eve")])
    }

    @Test func `only one client at a time uses a directory, and other users cannot read it`() async throws {
        try await opened { (_: Storage) -> Void in
            #expect(throws: PresenceError(StorageError.inUse(url.path))) { _ = try Storage.directory(url) }
        }
        let mode = try FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions] as? Int
        expect(mode, equals: 0o700)
    }

    @Test func `a closed storage can be opened at once, and takes no more`() async throws {
        let first = try Storage.directory(url)
        try await first.writes.append(Self.write("1"))
        await first.cache.write([Self.person("bob", 1)])
        await first.close()
        let second = try Storage.directory(url)
        await #expect(throws: StorageError.closed(url.appendingPathComponent("writes").path)) {
            try await first.writes.append(Self.write("2"))
        }
        await #expect(throws: StorageError.self) { try await first.writes.remove(["1"]) }
        await #expect(throws: StorageError.self) { try await first.writes.removeAll() }
        await #expect(throws: StorageError.self) { try await first.cache.removeAll() }
        await first.cache.write([Self.person("bob", 2)])
        try await expect(second.writes.load().writes, equals: [Self.write("1")])
        await second.close()
        try await expect(Storage.directory(url).cache.read(["bob"]), equals: [Self.person("bob", 1)])
    }

    @Test func `a directory that cannot be created is reported`() throws {
        try Data().write(to: url)
        #expect(throws: PresenceError.self) { try Storage.directory(url.appendingPathComponent("below")) }
    }

    @Test func `storage errors are described in words`() {
        expect("\(StorageError.inUse("/x"))", equals: "/x is in use by another client")
        expect("\(StorageError.failed("open", "/x", ENOSPC))", equals: "open /x: No space left on device")
    }
}

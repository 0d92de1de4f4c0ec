import Expectations
import Foundation
import TestSupport
import Testing

@testable import Installation

/// The use of a machine's memory and disk.
@Suite struct MachineTests {
    @Test func `it has three fifths of the memory that there is, and refuses more`() throws {
        let scratch = try ScratchDirectory()
        let directory = try DataDirectory(scratch.path)
        let settings = Dictionary(
            uniqueKeysWithValues: RedisServerProcess.settings(
                directory: directory, socket: "/s", appendfsync: .everySecond))
        expect(settings["maxmemory"], equals: [String(MachineMemory.bytes / 5 * 3)])
        expect(settings["maxmemory-policy"], equals: ["noeviction"])
        expect(MachineMemory.bytes > 64 << 20)
    }

    @Test func `a control group has its own limit and those around it`() throws {
        let scratch = try ScratchDirectory()
        let root = URL(filePath: scratch.path)
        for (path, limit) in [("", "max\n"), ("/a.slice", "4000\n"), ("/a.slice/b.service", "9000\n")] {
            let folder = root.appending(path: path)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(limit.utf8).write(to: folder.appending(path: "memory.max"))
        }
        expect(MachineMemory.group(in: "1:cpu:/x\n0::/a.slice/b.service\n"), equals: "/a.slice/b.service")
        expect(MachineMemory.limits(of: "/a.slice/b.service", in: root.path), equals: [9000, 4000])
        expect(MachineMemory.limits(of: "/", in: root.path), equals: [])
        expect(MachineMemory.limits(of: "/missing/one", in: root.path), equals: [])
    }

    @Test func `of a disk a part is kept, and all of a small one but a quarter can be used`() {
        let gigabyte = 1 << 30
        for (size, reserve) in [
            (64 << 20, 16 << 20), (4 * gigabyte, gigabyte), (20 * gigabyte, gigabyte), (100 * gigabyte, 5 * gigabyte),
            (4_000 * gigabyte, 16 * gigabyte), (0, 0),
        ] {
            expect(DiskRoom(size: size, free: 0).reserve, equals: reserve)
        }
        let room = DiskRoom(size: 64 << 20, free: (16 << 20) + 10)
        expect(room.hasRoom(for: 10) && !room.hasRoom(for: 11))
        expect(DiskRoom(size: 64 << 20, free: 8 << 20).hasRoomForMails)
        expect(!DiskRoom(size: 64 << 20, free: (8 << 20) - 1).hasRoomForMails)
        expect(DiskRoom(of: "/nowhere/at/all"), equals: nil)
    }
}

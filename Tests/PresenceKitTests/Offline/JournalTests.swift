import Expectations
import Foundation
import TestSupport
import Testing

@testable import PresenceKit

@Suite struct JournalTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.file("journal") }

    init() throws { directory = try TemporaryDirectory() }

    private func open(format: UInt32 = 1) throws -> (journal: Journal, records: [[UInt8]]) {
        var problems: [String] = []
        return try open(format: format, &problems)
    }

    private func open(format: UInt32 = 1, _ problems: inout [String]) throws -> (journal: Journal, records: [[UInt8]]) {
        var records: [[UInt8]] = []
        let journal = try Journal(path: path, format: format, records: &records, problems: &problems)
        return (journal, records)
    }

    private func bytes() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }

    @Test func `appended records can be read after a reopen, in order`() throws {
        var (journal, records) = try open()
        expect(records.isEmpty)
        let written: [[UInt8]] = [[1, 2, 3], [], Array(repeating: 7, count: 100_000)]
        try journal.append([written[0]], isDurable: true)
        try journal.append(Array(written[1...]), isDurable: false)
        try expect(open().records, equals: written)
    }

    @Test func `a file truncated anywhere keeps its complete records, and can be appended to`() throws {
        var (journal, _) = try open()
        try journal.append([[1], [2, 2], [3, 3, 3]], isDurable: false)
        let whole = try bytes()
        // Header 12, records of 9, 10 and 11 bytes.
        for length in 12..<whole.count {
            try Data(whole[..<length]).write(to: URL(fileURLWithPath: path))
            var (again, records) = try open()
            let expected = length >= 31 ? 2 : length >= 21 ? 1 : 0
            expect(records, equals: Array([[1], [2, 2]][..<expected]), "cut at \(length)")
            try again.append([[9]], isDurable: false)
            try expect(open().records.last, equals: [9])
        }
    }

    @Test func `a damaged record ends the reading before it`() throws {
        var (journal, _) = try open()
        try journal.append([[1], [2, 2]], isDurable: false)
        var damaged = try bytes()
        damaged[damaged.count - 1] ^= 1
        try Data(damaged).write(to: URL(fileURLWithPath: path))
        try expect(open().records, equals: [[1]])
        // A length beyond the file, and one beyond any record.
        for length: [UInt8] in [[200, 0, 0, 0], [255, 255, 255, 255]] {
            damaged.replaceSubrange(12..<16, with: length)
            try Data(damaged).write(to: URL(fileURLWithPath: path))
            try expect(open().records, equals: [])
        }
    }

    @Test func `a damaged record in the middle is lost alone and reported, and the file is kept`() throws {
        var (journal, _) = try open()
        try journal.append([[1], [2, 2], [3, 3, 3]], isDurable: false)
        var damaged = try bytes()
        // The payload of the second record; then its length, after which no record can be found.
        for (place, value, left) in [(29, 9 as UInt8, [[1], [3, 3, 3]]), (24, 0xFF, [[1]])] as [(Int, UInt8, [[UInt8]])]
        {
            damaged[place] = value
            try Data(damaged).write(to: URL(fileURLWithPath: path))
            var problems: [String] = []
            try expect(open(&problems).records, equals: left)
            expect(problems.count == 1 && problems[0].contains(".damaged"))
            try expect([UInt8](Data(contentsOf: URL(fileURLWithPath: path + ".damaged"))), equals: damaged)
            try expect(open(&problems).records == left && problems.count == 1, "told once")
        }
    }

    @Test func `a file that cannot be read is not treated as empty`() throws {
        // The file can be opened, but reading at its start fails.
        var (records, problems): ([[UInt8]], [String]) = ([], [])
        #expect(throws: StorageError.failed("read", "/proc/self/mem", EIO)) {
            try Journal(path: "/proc/self/mem", format: 1, records: &records, problems: &problems)
        }
    }

    @Test func `a record longer than can be read is rejected`() throws {
        var (journal, _) = try open()
        let longest = [UInt8](repeating: 7, count: Journal.longestRecord)
        try journal.append([longest], isDurable: false)
        #expect(throws: StorageError.failed("write", path, EFBIG)) {
            try journal.append([[1], longest + [7]], isDurable: false)
        }
        try journal.append([[2]], isDurable: false)
        try expect(open().records, equals: [longest, [2]])
    }

    @Test func `removing all records needs no new file, which a full disk would not allow`() throws {
        var (journal, _) = try open()
        try journal.append([[1], [2]], isDurable: false)
        try FileManager.default.createDirectory(atPath: path + ".new", withIntermediateDirectories: false)
        try journal.removeAll()
        try journal.append([[3]], isDurable: false)
        try expect(open().records, equals: [[3]])
    }

    @Test func `a foreign file is replaced, one of a later format rejected and left`() throws {
        try Data("something else altogether".utf8).write(to: URL(fileURLWithPath: path))
        try expect(open().records, equals: [])
        try expect(
            Data(contentsOf: URL(fileURLWithPath: path + ".damaged")), equals: Data("something else altogether".utf8))
        var (journal, _) = try open(format: 2)
        try journal.rewrite([[5]])
        let before = try bytes()
        #expect(throws: StorageError.laterVersion(path, 2)) { try open(format: 1) }
        try expect(bytes(), equals: before)
        try expect(open(format: 2).records, equals: [[5]])
    }

    @Test func `a rewrite replaces all records, and the new file can be appended to`() throws {
        var (journal, _) = try open()
        try journal.append([[1], [2]], isDurable: false)
        try journal.rewrite([[8]])
        try journal.append([[9]], isDurable: false)
        try expect(open().records, equals: [[8], [9]])
        expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test func `the checksum matches the known one`() {
        expect(CRC32.checksum(Array("123456789".utf8)), equals: 0xCBF4_3926)
        expect(CRC32.checksum([]), equals: 0)
    }
}

import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// The pages' code is compiled: it stands in `Snippets.swift`, word for word.
@Suite struct DocumentationTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let catalog = tests.deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/PresenceKit/PresenceKit.docc")

    @Test func `every piece of code in the pages is compiled, and every compiled piece is shown`() throws {
        let compiled = try Self.blocks(
            in: Self.tests.appendingPathComponent("Snippets.swift"), from: "// <snippet>", to: "// </snippet>")
        var shown: [String] = []
        for page in try Self.pages() { shown += try Self.blocks(in: page, from: "```swift", to: "```") }
        #expect(shown.count >= 9)
        for code in shown { #expect(compiled.contains(code), "not compiled:\n\(code)") }
        for code in compiled { #expect(shown.contains(code), "not shown:\n\(code)") }
    }

    @Test func `the table for those who come from Firebase names what they know`() throws {
        let table = try String(
            contentsOf: Self.catalog.appendingPathComponent("ComingFromFirebase.md"), encoding: .utf8)
        let known = [
            "observeUserPresence", "updateOnlineStatus", "observeUser", "getUser", "getUsers", "updateUser",
            "clearCache",
        ]
        for name in known { #expect(table.contains("| `\(name)("), "\(name)") }
    }

    @Test func `a cache on disk is there after a launch, and gone after a sign-out`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("presence-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let person = CachedPerson(
            user: "bob", asOf: Date(timestamp: 5_000), presence: Presence(version: 7, status: .away), profile: .none)
        await FileCache(file: file).write([person])
        let second = FileCache(file: file)
        #expect(await second.read(["bob", "cy"]) == [person])
        await second.removeAll()
        #expect(await FileCache(file: file).read(["bob"]).isEmpty)
    }

    private static func pages() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: catalog, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
    }

    /// What stands between lines that are `begin` and `end`, without the indentation of its first line.
    private static func blocks(in file: URL, from begin: String, to end: String) throws -> [String] {
        var blocks: [String] = []
        var block: [String]?
        for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
            let text = line.trimmingCharacters(in: .whitespaces)
            if let lines = block, text == end {
                let indentation = lines.first?.prefix { $0 == " " }.count ?? 0
                blocks.append(lines.map { String($0.dropFirst(indentation)) }.joined(separator: "\n"))
                block = nil
            } else if block == nil, text == begin {
                block = []
            } else {
                block?.append(line)
            }
        }
        return blocks
    }
}

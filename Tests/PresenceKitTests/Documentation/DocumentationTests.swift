import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// The code of the pages is compiled: it is in `Snippets.swift` and `AccountSnippets.swift`, word for word.
@Suite struct DocumentationTests {
    private static let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    private static let catalog = tests.deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/PresenceKit/PresenceKit.docc")

    @Test func `all code in the pages is compiled, and all compiled code is shown`() throws {
        let compiled = try ["Snippets.swift", "AccountSnippets.swift"].flatMap {
            try Self.blocks(in: Self.tests.appendingPathComponent($0), from: "// <snippet>", to: "// </snippet>")
        }
        var shown: [String] = []
        for page in try Self.pages() { shown += try Self.blocks(in: page, from: "```swift", to: "```") }
        expect(shown.count >= 9)
        for code in shown { expect(compiled.contains(code), "not compiled:\n\(code)") }
        for code in compiled { expect(shown.contains(code), "not shown:\n\(code)") }
    }

    @Test func `all symbols that the pages link to are declared, with these labels`() throws {
        let sources = try Self.sources()
        var links: Set<String> = []
        for page in try Self.pages() {
            let text = try String(contentsOf: page, encoding: .utf8)
            for match in text.matches(of: /``([A-Z][^`]+)``/) { links.insert(String(match.output.1)) }
        }
        expect(links.count > 40)
        for link in links {
            // PresenceClient/updateProfile(_:whenAway:)-(_,TextChange,_) has a name, labels, and the types of an
            // overload.
            let name = link.split(separator: "/").last!
            let base = String(name.prefix { $0.isLetter })
            let labels = name.drop { $0 != "(" }.prefix { $0 != ")" }.dropFirst().split(separator: ":")
            let isDeclared = Self.declarations(of: base, in: sources).contains { declaration in
                labels.allSatisfy { $0 == "_" || declaration.contains("\($0) ") || declaration.contains("\($0):") }
            }
            expect(isDeclared || link == "PresenceKit", "\(link)")
        }
    }

    @Test func `no page shows an error's message to users`() throws {
        for page in try Self.pages() {
            for code in try Self.blocks(in: page, from: "```swift", to: "```") {
                expect(!code.contains(/= \w+\??\.message/), "\(code)")
            }
        }
    }

    private static func pages() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: catalog, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
    }

    /// The library's own source, without comments.
    private static func sources() throws -> String {
        let folder = catalog.deletingLastPathComponent()
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }.map {
            try String(contentsOf: $0, encoding: .utf8).replacing(/\/\/.*/, with: "")
        }.joined(separator: "\n")
    }

    /// The text between the name of each public declaration and its body or value.
    private static func declarations(of name: String, in sources: String) -> [String] {
        let kinds = [
            "func ", "var ", "let ", "case ", "struct ", "class ", "enum ", "protocol ", "actor ", "typealias ",
        ]
        return kinds.flatMap { kind in
            sources.ranges(of: kind + name).compactMap { range -> String? in
                let rest = sources[range.upperBound...]
                guard let next = rest.first, !next.isLetter else { return nil }
                return String(rest.prefix { $0 != "{" && $0 != "=" || kind == "func " && $0 == "=" })
            }
        }
    }

    /// The text between lines that equal `begin` and `end`, without the indentation of its first line.
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

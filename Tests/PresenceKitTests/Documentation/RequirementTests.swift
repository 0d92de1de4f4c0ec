import Expectations
import Foundation
import Testing

/// docs/client-requirements.md names tests that exist.
@Suite struct RequirementTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `all tests and suites that a requirement names exist`() throws {
        let page = try String(
            contentsOf: Self.root.appendingPathComponent("docs/client-requirements.md"), encoding: .utf8)
        var tests = ""
        let files = FileManager.default.enumerator(
            at: Self.root.appendingPathComponent("Tests"), includingPropertiesForKeys: nil)
        for case let file as URL in files! where file.pathExtension == "swift" {
            tests += try String(contentsOf: file, encoding: .utf8)
        }
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("|") }
        // The right column has names in code marks: names of tests are sentences, names of suites end in Tests.
        let names = rows.flatMap { row in
            row.split(separator: "|").last.map { $0.matches(of: /`([^`]+)`/).map { String($0.output.1) } } ?? []
        }
        let suites = names.filter { $0.hasSuffix("Tests") }
        let sentences = names.filter { $0.contains(" ") && !$0.hasPrefix("Examples") && !$0.hasPrefix("loadtest") }
        expect(sentences.count > 40 && suites.count >= 2)
        for name in sentences { expect(tests.contains("func `\(name)`"), "\(name)") }
        for name in suites { expect(tests.contains("struct \(name)"), "\(name)") }
    }
}

import Expectations
import Foundation
import Testing

@testable import PresenceServer

@Suite struct BlockedPartsTests {
    private static let letters = [
        "禁", "止", "か", "か\u{3099}", "\u{304C}", "ก", "กำ", "é", "e\u{301}", "e", "☠", "👍", "👍🏽",
    ]

    private static func drawn(_ count: Int, _ random: inout some RandomNumberGenerator) -> String {
        (0..<count).map { _ in letters.randomElement(using: &random)! }.joined()
    }

    private static func has(_ text: String, _ part: String) -> Bool {
        let (text, part) = (bytes(text), bytes(part))
        guard text.count >= part.count else { return false }
        return (0...text.count - part.count).contains { text[$0..<$0 + part.count].elementsEqual(part) }
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.precomposedStringWithCanonicalMapping.utf8) }

    @Test func `drawn lines are found exactly where a text has them`() {
        var random = SystemRandomNumberGenerator()
        var found = 0
        for _ in 0..<3_000 {
            let lines = (0..<Int.random(in: 1...5, using: &random)).map { _ in Self.drawn(.random(in: 1...4), &random) }
            let text = Self.drawn(.random(in: 0...9), &random)
            let isFound = lines.contains { Self.has(text, $0) }
            found += isFound ? 1 : 0
            expect(BlockedParts(lines).areIn(text), equals: isFound, "\(lines) in \(text)")
        }
        expect((500...2_800).contains(found))
    }

    @Test func `a line is found after the beginnings of others`() {
        let parts = BlockedParts(["禁禁禁止", "禁禁☠", "禁止か", "止"])
        for text in ["禁禁禁禁止", "禁禁禁☠", "x禁止か", "止"] { expect(parts.areIn(text)) }
        for text in ["禁禁禁", "禁☠", "禁か", ""] { expect(!parts.areIn(text)) }
        expect(!BlockedParts([]).areIn("禁"))
    }

    /// The bound has room for a machine with other work: a search line by line takes hundreds of times as long.
    @Test func `a text costs about the same with a thousand lines as with one`() throws {
        let lines = (0..<1_000).map { number in
            String(String.UnicodeScalarView([number / 32, number % 32].map { Unicode.Scalar(0x4E00 + UInt32($0))! }))
                + "止"
        }
        let text = String(repeating: "一丁七万", count: 42)
        func time(_ words: BlockedWords) -> Duration {
            (0..<20).map { _ in ContinuousClock().measure { expect(!words.areIn(text)) } }.min()!
        }
        let (one, all) = (try BlockedWords(lines[0]), try BlockedWords(lines.joined(separator: "\n")))
        expect(time(all) < time(one) * 30)
    }
}

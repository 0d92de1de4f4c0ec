import Expectations
import Installation
import Testing

@testable import PresenceServer

@Suite struct BlockedWordsTests {
    @Test(
        arguments: [
            ("darn", true), ("Oh, DARN!", true), ("darned", false), ("d\u{200B}arn", true), ("buy now", true),
            ("Buy,\n NOW", true), ("buy it now", false), ("now buy", false), ("CAFE\u{301}", true), ("café", true),
            ("cafe", false), ("これは禁止です", true), ("x☠x", true), ("が", true),
            ("か\u{3099}", true), ("か", false), ("禁", false), ("禁\u{2060}止", true), ("ไก่กำ", true), ("ไก่", false),
            ("", false), ("buy", false), ("a b c d e f g h", true),
        ])
    func `a text has one of the words, or none`(text: String, isFound: Bool) throws {
        let words = try BlockedWords("# none\n\nDarn\r\n  buy   now \ncafé\n禁止\nが\nกำ\n☠\na b c d e f g h\n")
        expect(words.areIn(text), equals: isFound)
    }

    @Test func `an empty list has no word`() throws {
        let words = try BlockedWords("# darn\n \n")
        expect(words.isEmpty && !words.areIn("darn") && !words.areIn(""))
    }

    @Test func `a list has bounds`() throws {
        let parts = (0..<BlockedWords.mostParts).map { "\(Unicode.Scalar(0x4E00 + UInt32($0))!)" }
        try expect(!BlockedWords(parts.joined(separator: "\n")).isEmpty)
        let lines = Array(repeating: "x", count: BlockedWords.mostLines)
        try expect(!BlockedWords(lines.joined(separator: "\n")).isEmpty)
        for text in [
            "a b c d e f g h i", "\u{2060}", (parts + ["☠"]).joined(separator: "\n"),
            (lines + ["x"]).joined(separator: "\n"),
        ] {
            #expect(throws: StartFailure.self) { try BlockedWords(text) }
        }
    }
}

import Expectations
import Foundation
import PresenceKit
import Testing

@testable import TerminalClients
@testable import presence_watch

struct TextTests {
    @Test(arguments: [
        ("Ana", 3), ("", 0), ("Chloé", 5), ("Chloe\u{301}", 5), ("山田", 4), ("한국", 4), ("\u{1112}\u{1161}\u{11AB}", 2),
        ("ＡＢ", 4), ("ｱｲ", 2), ("🎧", 2), ("👩🏽‍💻", 2), ("👨‍👩‍👧‍👦", 2), ("🇵🇹", 2), ("❤️", 2), ("❤", 1),
        ("🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}", 2), ("●◐⊖○◌✕…–↑", 9), ("ไทย", 3), ("น้ำ", 2),
        ("नि", 2), ("क्ष", 2), ("مد", 2), ("a\u{200D}b", 2), ("\u{20000}", 2), ("\u{AC00}", 2), ("\u{D7A3}", 2),
        ("\u{303F}", 1), ("\u{A4CF}", 2), ("\u{A4D0}", 1), ("\u{10FFFF}", 1),
    ])
    func `the display width of texts`(_ text: String, _ width: Int) {
        expect(text.displayWidth, equals: width)
    }

    /// The ranges must be sorted for the search.
    @Test func `wide characters are found from one end of the table to the other`() {
        for value: UInt32 in [0x1100, 0x115F, 0x231A, 0x2705, 0x4E00, 0xFF60, 0x1F004, 0x1F600, 0x1FAFF, 0x3FFFD] {
            expect(WideScalars.contains(Unicode.Scalar(value)!), "U+\(String(value, radix: 16))")
        }
        for value: UInt32 in [0x41, 0x10FF, 0x1160, 0x2319, 0x25CF, 0xA4D0, 0xFF61, 0x1F003, 0x1F1E6, 0x2FFFE, 0x3FFFE]
        {
            expect(!WideScalars.contains(Unicode.Scalar(value)!), "U+\(String(value, radix: 16))")
        }
    }

    @Test func `no control sequence gets through`() {
        for value in (0..<0x20).map(UInt32.init) + [0x7F] + (0x80...0x9F).map(UInt32.init) + [0x2028, 0x2029] {
            let label = Label("a\(Unicode.Scalar(value)!)b")
            expect(label.text, equals: "a\u{FFFD}b", "U+\(String(value, radix: 16))")
            expect(label.width, equals: 3)
        }
        for value: UInt32 in [0x200B, 0x200E, 0x200F, 0x202A, 0x202E, 0x2066, 0x2069, 0x061C, 0xFEFF, 0xAD, 0xFFF9] {
            expect(Label("a\(Unicode.Scalar(value)!)b").text, equals: "ab", "U+\(String(value, radix: 16))")
        }
        expect(Label("\u{1B}]0;pwned\u{7}").text, equals: "\u{FFFD}]0;pwned\u{FFFD}")
        expect(Label("two\r\nlines").text, equals: "two\u{FFFD}\u{FFFD}lines")
    }

    @Test func `marks neither overlap the preceding cell nor pile up`() {
        expect(Label("\u{301}\u{302}ana").text, equals: "ana")
        let tower = Label("a" + String(repeating: "\u{334}", count: 500))
        expect(tower.width, equals: 1)
        expect(tower.text.unicodeScalars.count, equals: 16)
        expect(Label("👩🏽‍💻").text, equals: "👩🏽‍💻")
    }

    @Test func `a cell is exactly as wide as requested`() {
        for text in ["Ana", "山田太郎", "👩🏽‍💻 Dev", "Chloe\u{301}", "", "नमस्ते क्षत्रिय"] {
            for columns in 0...12 {
                expect(Label(text).fitted(to: columns).displayWidth, equals: columns, "\(text) in \(columns)")
            }
        }
        expect(Label("山田太郎").fitted(to: 6), equals: "山田… ")
        expect(Label("Ana Silva").fitted(to: 4), equals: "Ana…")
        expect(Label("Ana").fitted(to: 5), equals: "Ana  ")
    }

    @Test(arguments: [
        (0.0, "just now"), (0.9, "just now"), (-30, "just now"), (1, "1 s ago"), (59.9, "59 s ago"), (60, "1 min ago"),
        (3_599, "59 min ago"), (3_600, "1 h ago"), (86_399, "23 h ago"), (86_400, "1 d ago"), (31_622_399, "365 d ago"),
        (31_622_400, "1 y ago"), (1e300, "999 y ago"), (.nan, "just now"),
    ])
    func `ages in words`(_ seconds: Double, _ text: String) {
        let age = Age(of: Date(timeIntervalSinceReferenceDate: 0), at: Date(timeIntervalSinceReferenceDate: seconds))
        expect(age.ago, equals: text)
        expect(age.ago.count <= 10 && age.lasting.count <= 10)
    }

    @Test(arguments: [
        (0.0, "<1 ms"), (0.9, "<1 ms"), (1, "1 ms"), (999.4, "999 ms"), (999.6, "1.0 s"), (1_234, "1.2 s"),
        (9_949, "9.9 s"), (9_951, "10 s"), (75_000, "75 s"),
    ])
    func `durations of changes`(_ milliseconds: Double, _ text: String) {
        expect(Duration.milliseconds(milliseconds).shortText, equals: text)
    }
}

import Expectations
import PresenceProtocol
import Testing

struct JSONScannerTests {
    /// Reads one whole text and returns why it is invalid, if it is.
    private func fault(_ bytes: [UInt8]) -> JSONError.Reason? {
        bytes.withUnsafeBytes { bytes in
            do throws(JSONError) {
                var scanner = JSONScanner(bytes)
                _ = try scanner.value()
                try scanner.finish()
                return nil
            } catch {
                return error.reason
            }
        }
    }

    private func fault(_ text: String) -> JSONError.Reason? { fault(Array(text.utf8)) }

    private func string(_ json: String) -> String? {
        var json = json
        return json.withUTF8 { utf8 in
            var scanner = JSONScanner(UnsafeRawBufferPointer(utf8))
            return (try? scanner.value())?.string
        }
    }

    private func number(_ json: String) -> JSONNumber? {
        var json = json
        return json.withUTF8 { utf8 in
            var scanner = JSONScanner(UnsafeRawBufferPointer(utf8))
            return (try? scanner.value())?.number
        }
    }

    @Test(arguments: [
        "{}", "[]", "0", "-0", "1", "-1", "10", "1.5", "1e3", "1E+3", "-0.1e-2", "true", "false", "null", "\"\"",
        " {} ", "\t[\r\n1 , 2 ]\n", #"{"a":{"b":[{}]},"c":[]}"#, #"{"a":1,"a":2}"#, #""é😀""#, #""\u00e9\ud83d\ude00""#,
        #""\"\\\/\b\f\n\r\t""#, "\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\"", "[[[[]]]]", "\"\\u0000\"",
        String(repeating: "9", count: 400),
    ])
    func `a text that RFC 8259 allows is read`(text: String) {
        expect(fault(text), equals: nil)
    }

    @Test(arguments: [
        "", " ", "{", "[", "}", "]", "{]", "[}", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{,}", "{\"a\"}", "{\"a\":}",
        "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{'a':1}", "{1:1}", "{\"a\":1 \"b\":2}", "01", "-", "-a", "+1", ".5", "1.",
        "1.e3", "1e", "1e+", "0x1", "1_000", "NaN", "Infinity", "-Infinity", "tru", "True", "truee", "nul", "nulll",
        "undefined", "\"", "\"a", "'a'", "\"\\\"", "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\U0041\"", "{}{}",
        "{} x",
        "1 1", "// a\n1", "/* a */ 1", "\u{FEFF}{}", "{}\0", "\u{A0}{}", "\"a\nb\"", "\"a\tb\"", "\"\u{1F}\"",
        "\"\u{0}\"",
    ])
    func `any other text is refused`(text: String) {
        expect(fault(text) != nil)
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x20], [0xE0, 0x9F, 0xBF], [0xE0, 0xA0],
            [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xEF, 0xBF, 0x20], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x90, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xF8, 0x88, 0x80, 0x80, 0x80],
            [0xC3, 0xA9, 0xA9], [0xF0, 0x9F, 0x98, 0xC0],
        ] as [[UInt8]])
    func `invalid UTF-8 is refused at every alignment and length`(bad: [UInt8]) {
        for before in 0..<10 {
            for after in 0..<10 {
                let text =
                    [0x22] + [UInt8](repeating: 0x61, count: before) + bad + [UInt8](repeating: 0x62, count: after)
                    + [0x22]
                expect(fault(text) == .invalidUTF8 || fault(text) == .truncated, "\(before), \(after)")
            }
        }
    }

    @Test func `special bytes are found wherever they stand in a word`() {
        for before in 0..<17 {
            let filler = String(repeating: "a", count: before)
            expect(string("\"\(filler)\" \""), equals: filler)
            expect(string("\"\(filler)\\n!\""), equals: filler + "\n!")
            expect(string("\"\(filler)é!\""), equals: filler + "é!")
            expect(fault("\"\(filler)\u{1}bbbbbbbbbbbbbbbb\""), equals: .controlCharacter)
            expect(fault("\"\(filler)\u{1F}\""), equals: .controlCharacter)
            expect(string("\"\(filler)\u{20}\u{21}\u{23}\u{5B}\u{5D}\u{7F}\""), equals: filler + " !#[]\u{7F}")
        }
    }

    @Test(arguments: [
        #""\ud800""#, #""\udbff""#, #""\udc00""#, #""\udfff""#, #""\ud800x""#, #""\ud800\n""#, #""\ud800\u0041""#,
        #""\ud800\ud800""#, #""\udc00\ud800""#, #""\ud83d\ude00\ud83d""#,
    ])
    func `lone surrogates are refused`(text: String) {
        expect(fault(text), equals: .loneSurrogate)
    }

    @Test func `escapes are decoded`() {
        expect(string(#""\"\\\/\b\f\n\r\tx""#), equals: "\"\\/\u{8}\u{C}\n\r\tx")
        expect(string(#""\u0041\u00e9\u20AC\uD83D\uDE00""#), equals: "Aé€😀")
        expect(string(#""\ud800\udc00\udbff\udfff""#), equals: "\u{10000}\u{10FFFF}")
        expect(string("17"), equals: nil)
    }

    @Test func `nesting of 32 is read and of 33 is refused`() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nested = { (depth: Int) in
                String(repeating: open, count: depth - 1) + (open == "[" ? "[" : "{")
                    + String(repeating: close, count: depth)
            }
            expect(fault(nested(32)), equals: nil)
            expect(fault(nested(33)), equals: .tooDeep)
            expect(fault(nested(100_000)), equals: .tooDeep)
        }
        let siblings = "[" + String(repeating: "[{}],", count: 1000) + "[]]"
        expect(fault(siblings), equals: nil)
    }

    @Test func `integers are exact to 64 bits, and other numbers are distinguished`() {
        expect(number("0"), equals: .integer(0))
        expect(number("-0"), equals: .integer(0))
        expect(number("-7"), equals: .integer(-7))
        expect(number("9007199254740993"), equals: .integer(9_007_199_254_740_993))
        expect(number("9223372036854775807"), equals: .integer(.max))
        expect(number("-9223372036854775808"), equals: .integer(.min))
        expect(number("9223372036854775808"), equals: .tooLarge)
        expect(number("-9223372036854775809"), equals: .tooLarge)
        expect(number("18446744073709551616"), equals: .tooLarge)
        expect(number(String(repeating: "1", count: 500)), equals: .tooLarge)
        expect(number("1.0"), equals: .fraction)
        expect(number("1e3"), equals: .fraction)
        expect(number("99999999999999999999.5"), equals: .fraction)
        expect(number("\"1\""), equals: nil)
    }

    @Test func `values can be pulled one by one`() throws {
        let text = Array(#" { "a" : [1, [2], {"x":3}] , "b" : {} , "\u0063" : null } "#.utf8)
        let read = try text.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            var read: [String] = []
            try scanner.beginObject()
            while let key = try scanner.nextKey() {
                guard try scanner.peek() == .array else {
                    read.append("\(key.string!)=\(String(decoding: try scanner.value().bytes, as: UTF8.self))")
                    continue
                }
                try scanner.beginArray()
                while try scanner.nextElement() {
                    read.append(String(decoding: try scanner.value().bytes, as: UTF8.self))
                }
            }
            try scanner.finish()
            return read
        }
        expect(read, equals: ["1", "[2]", "{\"x\":3}", "b={}", "c=null"])
    }

    @Test func `an error has the offset of its byte`() {
        let text = Array("{\"a\":tru}".utf8)
        let error = text.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            return #expect(throws: JSONError.self) { try scanner.value() }
        }
        expect(error, equals: JSONError(.unexpectedByte, at: 8))
    }
}

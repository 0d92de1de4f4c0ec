import Expectations
import PresenceProtocol
import Testing

struct JSONWriterTests {
    private func written(_ body: (inout [UInt8]) -> Void) -> String {
        var output: [UInt8] = []
        body(&output)
        return String(json: output)
    }

    @Test func `strings are escaped where they must be and nowhere else`() {
        expect(written { JSONWriter.string("", to: &$0) }, equals: #""""#)
        expect(written { JSONWriter.string("Ana's /é😀\u{7F}\u{2028}", to: &$0) }, equals: "\"Ana's /é😀\u{7F}\u{2028}\"")
        expect(written { JSONWriter.string("a\"b\\c", to: &$0) }, equals: #""a\"b\\c""#)
        expect(written { JSONWriter.string("\u{8}\t\n\u{C}\r", to: &$0) }, equals: #""\b\t\n\f\r""#)
        expect(written { JSONWriter.string("\0\u{B}\u{1F}", to: &$0) }, equals: #""\u0000\u000b\u001f""#)
    }

    @Test(arguments: [0, 1, -1, 9, 10, -10, 1_763_712_000_000, .max, .min])
    func `integers are written in decimal`(value: Int64) {
        expect(written { JSONWriter.integer(value, to: &$0) }, equals: "\(value)")
    }

    @Test func `every string survives being written and read`() {
        var random = SplitMix(seed: 7)
        for _ in 0..<5_000 {
            let text = Invention.anyText(upTo: 40, using: &random)
            var output: [UInt8] = []
            JSONWriter.string(text, to: &output)
            let read = output.withUnsafeBytes { bytes in
                var scanner = JSONScanner(bytes)
                return (try? scanner.value())?.string
            }
            expect(read.map { Array($0.utf8) }, equals: Array(text.utf8))
        }
    }
}

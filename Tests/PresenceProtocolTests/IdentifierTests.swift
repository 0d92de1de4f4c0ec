import Expectations
import PresenceProtocol
import Testing

struct IdentifierTests {
    @Test func `1 to 128 bytes of printable ASCII without space are an id`() {
        expect(Identifier("!") != nil)
        expect(Identifier("~") != nil)
        expect(Identifier(String(repeating: "x", count: 128)) != nil)
        expect(Identifier("{\"a\"}/%:\\") != nil)
    }

    @Test(arguments: ["", " ", "a b", "a\n", "\u{7F}", "é", "e\u{301}", "\0", "😀", String(repeating: "x", count: 129)])
    func `anything else is invalid`(text: String) {
        expect(Identifier(text), equals: nil)
    }

    @Test(arguments: [1, 2, 20, 99, 100, 101, 300])
    func `of ids that are there twice the first one stays, however many there are`(count: Int) {
        let ids = (0..<count).map { id("user-\($0)") }
        expect(ids.withoutRepetitions(), equals: ids)
        for place in [0, count / 2, count - 1] {
            expect((ids + [ids[place]]).withoutRepetitions(), equals: ids)
            expect(([ids[place]] + ids).withoutRepetitions(), equals: [ids[place]] + ids.filter { $0 != ids[place] })
        }
    }

    @Test func `ids differ by case and sort by bytes`() {
        expect(id("Bob") != id("bob"))
        expect(
            [id("b"), id("a"), id("B"), id("10"), id("9")].sorted(),
            equals: [id("10"), id("9"), id("B"), id("a"), id("b")])
    }
}

import Expectations
import TerminalClients
import Testing

@testable import presence_chat

/// Keys, the written line, and its command.
struct ChatInputTests {
    @Test(arguments: [
        ("a", [ChatKey.text("a")]), ("\r", [.enter]), ("\n", [.enter]), ("\u{7F}", [.backspace]),
        ("\u{8}", [.backspace]),
        ("\u{1B}[A", [.up]), ("\u{1B}OD", [.left]), ("\u{1B}[1;5C", [.right]), ("\u{1B}[3~", [.delete]),
        ("\u{1B}[5~", [.pageUp]), ("\u{1B}[6~", [.pageDown]), ("\u{1}", [.home]), ("\u{5}", [.end]),
        ("\u{15}", [.deleteLine]), ("\u{17}", [.deleteWord]), ("\u{4}", [.endOfInput]), ("é", [.text("é")]),
        ("山", [.text("山")]), ("🎧", [.text("🎧")]), ("\u{0}", [.other]),
    ])
    func `a key is recognized by its bytes, whole or one by one`(_ bytes: String, _ keys: [ChatKey]) {
        var whole = ChatKeyDecoder()
        expect(whole.decode(bytes.utf8), equals: keys)
        guard !bytes.hasPrefix("\u{1B}") else { return }
        var pieces = ChatKeyDecoder()
        expect(bytes.utf8.flatMap { pieces.decode([$0]) }, equals: keys)
    }

    @Test func `pasted text is one text, an escape at the end is the key, and incomplete bytes are dropped`() {
        var decoder = ChatKeyDecoder()
        expect(decoder.decode("Hello 山\r".utf8), equals: [.text("Hello 山"), .enter])
        expect(decoder.decode("\u{1B}".utf8), equals: [.escape])
        expect(decoder.decode([0xE5, UInt8(ascii: "x")]), equals: [.text("x")])
        expect(decoder.decode([0xFF, 0x80, 0x80, 0x80]), equals: [.other])
        expect(decoder.decode("\u{1B}x".utf8), equals: [.other])
        expect(decoder.decode("y".utf8), equals: [.text("y")])
    }

    @Test func `a line is edited at the cursor`() {
        var line = LineEditor()
        func press(_ keys: ChatKey...) -> String {
            for key in keys {
                let isTaken = line.handle(key)
                expect(isTaken)
            }
            let text = line.text
            return String(text.prefix(line.cursor)) + "|" + String(text.dropFirst(line.cursor))
        }
        expect(press(.text("Helo")), equals: "Helo|")
        expect(press(.left, .text("l")), equals: "Hell|o")
        expect(press(.home, .text("¡")), equals: "¡|Hello")
        expect(press(.delete, .right, .backspace), equals: "¡|llo")
        expect(press(.end, .text(" my friend")), equals: "¡llo my friend|")
        expect(press(.deleteWord), equals: "¡llo my |")
        expect(press(.deleteWord, .deleteWord, .deleteWord, .backspace, .left), equals: "|")
        expect(press(.text("e"), .text("\u{301}")), equals: "é|")
        expect(press(.text("x"), .left, .deleteLine), equals: "|x")
        expect(!line.handle(.enter) && !line.handle(.up))
    }

    @Test(arguments: [
        ("Hello", ChatCommand.send("Hello")), ("//etc", .send("/etc")), ("/edit a b", .edit("a b")),
        ("/delete", .delete), ("/name  Alps ", .rename("Alps")), ("/add cy dan", .add(["cy", "dan"])), ("/quit", .quit),
        ("/priority Come  now", .send("Come  now", isPriority: true)), ("/priority", .unknown("/priority")),
        ("/attach ~/a b.pdf", .attach("~/a b.pdf")), ("/attach", .unknown("/attach")),
        ("/edit", .unknown("/edit")), ("/delete it", .unknown("/delete it")), ("/", .unknown("/")),
        ("/etc/passwd", .unknown("/etc/passwd")),
    ])
    func `a line is a message or a command`(_ line: String, _ command: ChatCommand) {
        expect(ChatCommand(line), equals: command)
    }

    @Test func `the same users and name select the same group`() {
        let key = Place.key(of: ["bob", "cy"], name: "Trip")
        expect(key == Place.key(of: ["cy", "bob", "cy"], name: "Trip") && key.utf8.count <= 64)
        expect(key != Place.key(of: ["bob", "cy"], name: nil) && key != Place.key(of: ["bob", "dan"], name: "Trip"))
        #expect(throws: Failure.self) { try Place(users: [], name: "Trip", conversation: nil, lists: false) }
        #expect(throws: Failure.self) { try Place(users: ["bob"], name: nil, conversation: "c", lists: false) }
    }

    @Test func `a token names its user, and any other text names none`() {
        expect(TokenSubject.user(of: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbmEiLCJuIjoyfQ.c2ln"), equals: "ana")
        for text in ["", "a.b.c", "a.e30.c", "eyJzdWIiOiJhbmEifQ"] { expect(TokenSubject.user(of: text), equals: nil) }
    }
}

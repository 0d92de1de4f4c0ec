import Expectations
import TerminalClients
import Testing

@testable import presence_watch

struct TerminalTests {
    @Test(arguments: [
        ("k", Key.up), ("j", .down), ("\u{1B}[A", .up), ("\u{1B}[B", .down), ("\u{1B}OA", .up), ("\u{1B}OB", .down),
        ("\u{1B}[5~", .pageUp), ("\u{1B}[6~", .pageDown), (" ", .pageDown), ("b", .pageUp), ("\u{1B}[H", .home),
        ("\u{1B}[F", .end), ("\u{1B}[1~", .home), ("\u{1B}[4~", .end), ("\u{1B}OH", .home), ("\u{1B}OF", .end),
        ("g", .home), ("G", .end), ("q", .quit), ("Q", .quit), ("\u{3}", .quit), ("\u{C}", .redraw), ("x", .other),
        ("\u{1B}[3~", .other), ("\u{1B}[1;5A", .up), ("\u{1B}[5;2~", .pageUp),
    ])
    func `a key is recognized by its bytes, whole or one by one`(_ bytes: String, _ key: Key) {
        var whole = KeyDecoder()
        expect(whole.decode(bytes.utf8), equals: [key])
        var pieces = KeyDecoder()
        expect(bytes.utf8.flatMap { pieces.decode([$0]) }, equals: [key])
    }

    @Test func `several keys may arrive at once, and the escape key does not swallow the next`() {
        var decoder = KeyDecoder()
        expect(decoder.decode("jj\u{1B}[A".utf8), equals: [.down, .down, .up])
        expect(decoder.decode("\u{1B}".utf8), equals: [])
        expect(decoder.decode("q".utf8), equals: [.quit])
    }

    @Test func `an endless sequence is dropped`() {
        var decoder = KeyDecoder()
        _ = decoder.decode("\u{1B}[".utf8)
        _ = decoder.decode(String(repeating: "1", count: 100).utf8)
        expect(decoder.decode("\u{1B}[Aq".utf8).last, equals: .quit)
    }

    @Test func `the view moves by lines and pages and stays within the rows`() {
        var view = Viewport()
        func after(_ keys: Key..., count: Int = 30) -> Range<Int> {
            for key in keys { view.handle(key, count: count, height: 10) }
            return view.range(count: count, height: 10)
        }
        expect(after(.up), equals: 0..<10)
        expect(after(.down, .down), equals: 2..<12)
        expect(after(.pageDown), equals: 11..<21)
        expect(after(.pageDown, .pageDown), equals: 20..<30)
        expect(after(.down), equals: 20..<30)
        expect(after(.pageUp), equals: 11..<21)
        expect(after(.home), equals: 0..<10)
        expect(after(.end), equals: 20..<30)
        // All users fit, so there is nothing to scroll.
        expect(after(.end, count: 4), equals: 0..<4)
    }

    @Test func `a terminal that grew shows as many as fit`() {
        var view = Viewport()
        view.handle(.end, count: 30, height: 10)
        view.clamp(count: 30, height: 25)
        expect(view.range(count: 30, height: 25), equals: 5..<30)
        expect(view.range(count: 30, height: 0).isEmpty)
    }

    @Test func `only lines that differ are written`() {
        func line(_ text: String) -> Line {
            var line = Line()
            line.append(text, .bold)
            return line
        }
        var canvas = Canvas(isColoured: false)
        expect(
            canvas.update(to: [line("a"), line("b")], width: 9),
            equals: "\u{1B}[0m\u{1B}[2J\u{1B}[1;1H\u{1B}[2Ka\u{1B}[2;1H\u{1B}[2Kb")
        expect(canvas.update(to: [line("a"), line("b")], width: 9), equals: "")
        expect(canvas.update(to: [line("a"), line("c")], width: 9), equals: "\u{1B}[2;1H\u{1B}[2Kc")
        expect(canvas.update(to: [line("a"), line("c")], width: 8).hasPrefix("\u{1B}[0m\u{1B}[2J"))
        canvas.forget()
        expect(canvas.update(to: [line("a"), line("c")], width: 8).contains("a"))
    }

    @Test func `each piece is put at its column, whatever the terminal drew before`() {
        var line = Line()
        line.append(Label("❤️ Ana"), to: 10, Style(color: .green))
        line.append("x")
        expect(line.placedText(isColoured: true), equals: "\u{1B}[32m❤️ Ana    \u{1B}[0m\u{1B}[11Gx")
        expect(line.placedText(isColoured: false), equals: "❤️ Ana    \u{1B}[11Gx")
        expect(line.colouredText, equals: "\u{1B}[32m❤️ Ana    \u{1B}[0mx")
        expect(line.plainText, equals: "❤️ Ana    x")
    }
}

import Expectations
import Testing

@testable import presence_load

@Suite struct TraceTests {
    private static let head = "time_ms,event,user,text_length\n"

    private static let mistakes: [(text: String, sentence: String)] = [
        ("", "t:1: a trace begins with the line time_ms,event,user,text_length"),
        (head, "t holds no events"),
        (head + "0,join,u0\n", "t:2: expected 4 fields, found 3"),
        (head + "0,join,u0,0\nsoon,join,u0,0\n", "t:3: not a time in milliseconds: soon"),
        (head + "5,join,u0,0\n4,leave,u0,0\n", "t:3: 4 comes before the row above it"),
        (head + "0,quit,u0,0\n", "t:2: not join, leave, message or rename: quit"),
        (head + "0,join,,0\n", "t:2: nobody is named"),
        (head + "0,message,u0,-1\n", "t:2: not a length of text: -1"),
    ]

    @Test func `rows and people are read in their order`() throws {
        let trace = try Trace(Self.head + "0,message,u1,6\n15,join,u0,0\r\n15,rename,u1,0\n20,leave,u0,0\n", file: "t")
        expect(trace.people, equals: ["u1", "u0"])
        expect(
            trace.rows,
            equals: [
                Trace.Row(time: 0, event: .message, person: 0, textLength: 6),
                Trace.Row(time: 15, event: .join, person: 1, textLength: 0),
                Trace.Row(time: 15, event: .rename, person: 0, textLength: 0),
                Trace.Row(time: 20, event: .leave, person: 1, textLength: 0),
            ])
    }

    @Test(arguments: mistakes)
    func `a bad trace is refused with its line`(text: String, sentence: String) {
        let failure = #expect(throws: Failure.self) { _ = try Trace(text, file: "t") }
        expect(failure?.description, equals: sentence)
    }
}

import Expectations
import Testing

@testable import presence_load

@Suite struct ScreenplayTests {
    private func deeds(_ rows: String, speed: Double = 1) throws -> [Deed] {
        Screenplay.deeds(of: try Trace("time_ms,event,user,text_length\n" + rows, file: "t"), speed: speed)
    }

    private func deed(_ seconds: Double, _ act: Deed.Act, _ person: Int = 0) -> Deed {
        Deed(time: .seconds(seconds), person: person, act: act)
    }

    @Test func `anyone's first event connects them, a leave too`() throws {
        try expect(
            deeds("1000,message,p,5\n2000,rename,q,0\n3000,leave,r,0\n"),
            equals: [
                deed(1, .join), deed(1, .beginTyping), deed(1, .endTyping(length: 5)), deed(2, .join, 1),
                deed(2, .rename, 1),
                deed(3, .join, 2), deed(3, .leave, 2),
            ])
    }

    @Test func `a message after a leave joins again, and a second leave has no effect`() throws {
        try expect(
            deeds("0,join,p,0\n1000,leave,p,0\n2000,leave,p,0\n3000,rename,p,0\n"),
            equals: [
                deed(0, .join), deed(1, .leave), deed(3, .join), deed(3, .rename),
            ])
    }

    @Test func `a message is typed beforehand, as long as its length takes, but not before the last deed`() throws {
        try expect(
            deeds("0,join,p,0\n20000,message,p,50\n21000,message,p,50\n100000,message,p,5000\n"),
            equals: [
                deed(0, .join), deed(10, .beginTyping), deed(20, .endTyping(length: 50)), deed(20, .beginTyping),
                deed(21, .endTyping(length: 50)), deed(70, .beginTyping), deed(100, .endTyping(length: 5_000)),
            ])
    }

    @Test func `typing that begins before another's event comes before it`() throws {
        try expect(
            deeds("0,join,p,0\n0,join,q,0\n9000,rename,q,0\n10000,message,p,20\n").map(\.act),
            equals: [
                .join, .join, .beginTyping, .rename, .endTyping(length: 20),
            ])
    }

    @Test func `everything is faster by the speed`() throws {
        try expect(deeds("0,join,p,0\n240000,leave,p,0\n", speed: 240).last, equals: deed(1, .leave))
    }
}

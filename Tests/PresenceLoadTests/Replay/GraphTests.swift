import Expectations
import Testing

@testable import presence_load

@Suite struct GraphTests {
    @Test func `edges go both ways, once, and never to oneself`() throws {
        let graph = try Graph("# friends\na b\nb a\n\na a\r\nc\tb\n", file: "g")
        expect(graph.neighbours, equals: [[1], [0, 2], [1]])
    }

    @Test func `an invalid line is rejected with its number`() {
        let failure = #expect(throws: Failure.self) { _ = try Graph("a b\na b c\n", file: "g") }
        expect(failure?.description, equals: "g:2: an edge is two names, and here are 3")
        #expect(throws: Failure.self) { _ = try Graph("# nothing\n", file: "g") }
    }

    @Test func `the neighbourhood begins with the most connected person and reaches separate ones last`() throws {
        // x-y stand apart; hub (3) knows most.
        let graph = try Graph("x y\nhub a\nhub b\nhub c\nc d\n", file: "g")
        expect(graph.neighbourhoodOrder(), equals: [2, 3, 4, 5, 6, 0, 1])
    }

    @Test func `people of the trace watch their neighbours, those outside of it too`() throws {
        let trace = try Trace("time_ms,event,user,text_length\n0,join,p,0\n1,join,q,0\n", file: "t")
        let cast = try Cast(trace, Graph("hub a\nhub b\na c\n", file: "g"), prefix: "run")
        expect(cast.players, equals: 2)
        // p is the hub and q is a: the hub knows a and b, and a knows the hub and c.
        expect(cast.watched, equals: [[1, 2], [0, 3]])
        expect(cast.users.map(\.string), equals: ["run-p", "run-q", "run-node2", "run-node3"])
        expect(cast.place(of: cast.users[3]), equals: 3)
    }

    @Test func `a conversation has at most nine others`() throws {
        let trace = try Trace("time_ms,event,user,text_length\n0,join,p,0\n", file: "t")
        let star = (0..<30).map { "hub n\($0)\n" }.joined()
        let cast = try Cast(trace, Graph(star, file: "g"), prefix: "run")
        expect(cast.watched[0].count, equals: 30)
        expect(cast.companions[0].count, equals: 9)
    }

    @Test func `more people than nodes are refused`() throws {
        let trace = try Trace("time_ms,event,user,text_length\n0,join,p,0\n1,join,q,0\n2,join,r,0\n", file: "t")
        #expect(throws: Failure("the trace has 3 people and the graph only 2 nodes")) {
            _ = try Cast(trace, Graph("a b\n", file: "g"), prefix: "run")
        }
    }
}

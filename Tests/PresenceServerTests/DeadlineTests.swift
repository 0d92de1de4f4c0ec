import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore

@Suite struct DeadlineTests {
    private let kind = DeadlineKind(index: 3)

    private func due(_ deadlines: inout Deadlines, at now: Milliseconds) -> Int {
        var count = 0
        while deadlines.popDue(now) != nil { count += 1 }
        return count
    }

    @Test func `all deadlines of a kind become due`() {
        var deadlines = Deadlines()
        deadlines.set(kind, at: 10)
        deadlines.set(kind, at: 20)
        expect(due(&deadlines, at: 9), equals: 0)
        expect(due(&deadlines, at: 20), equals: 2)
    }

    @Test(arguments: [(10, 20), (20, 10), (10, 10)] as [(Milliseconds, Milliseconds)])
    func `of a kind set with setOnly, only the last deadline becomes due, whichever is later`(
        first: Milliseconds, last: Milliseconds
    ) {
        var deadlines = Deadlines()
        deadlines.setOnly(kind, at: first)
        deadlines.setOnly(kind, at: last)
        expect(due(&deadlines, at: last - 1), equals: 0)
        expect(deadlines.popDue(last), equals: .onlyFeature(kind))
        expect(due(&deadlines, at: 100), equals: 0)
        deadlines.setOnly(kind, at: 110)
        expect(due(&deadlines, at: 110), equals: 1)
    }

    @Test func `kinds do not replace each other`() {
        var deadlines = Deadlines()
        deadlines.setOnly(kind, at: 10)
        deadlines.setOnly(DeadlineKind(index: 4), at: 20)
        expect(due(&deadlines, at: 20), equals: 2)
    }
}

import Expectations
import Foundation
import Testing

@testable import PresenceMessages

/// The app's loops on one topic.
struct LoopsTests {
    private typealias Stream = AsyncStream<[Int]>

    private func elements(_ stream: Stream) async -> [[Int]] {
        var elements: [[Int]] = []
        for await element in stream { elements.append(element) }
        return elements
    }

    @Test func `a loop that begins with nothing known gets the next element, even if others had it before`()
        async
    {
        var loops = Loops<[Int]>()
        let (former, one) = Stream.makeStream()
        loops.add(UUID(), one, [1])
        loops.publish([])
        let (late, other) = Stream.makeStream()
        loops.add(UUID(), other, nil)
        loops.publish([])
        loops.publish([])
        one.finish()
        other.finish()
        await expect(elements(former), equals: [[1], [], []])
        await expect(elements(late), equals: [[]])
    }
}

import Expectations
import Testing

@testable import NumberedQueues

@Suite struct NumberedQueueTests {
    @Test func `it behaves like a plain list, whatever is removed when`() {
        var random = SystemRandomNumberGenerator()
        var queue = NumberedQueue<UInt64>()
        var list: [UInt64] = []
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<10, using: &random) {
            case ..<5:
                list.append(queue.append { $0 })
            case ..<7:
                expect(queue.popFirst(), equals: list.isEmpty ? nil : list.removeFirst())
            case ..<9:
                let number = UInt64.random(in: 0...(list.last ?? 0) + 1, using: &random)
                let index = list.firstIndex(of: number)
                expect(queue.remove(number), equals: index.map { list.remove(at: $0) })
            default:
                guard list.count > 50 else { continue }
                let wanted = list.filter { $0 % 5 == 0 }
                expect(queue.removeAll { $0 % 5 == 0 }, equals: wanted)
                list.removeAll { $0 % 5 == 0 }
            }
            expect(queue.count, equals: list.count)
        }
        var rest: [UInt64] = []
        queue.forEach { rest.append($0) }
        expect(rest == list && queue.removeAll() == list && queue.isEmpty)
    }
}

import Expectations
import Testing

@testable import presenced

@Suite(.timeLimit(.minutes(1)))
struct ReloadsTests {
    /// ReloadQueue that wait until they are released.
    private actor Files {
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private var isFree = false
        private var underWay = 0
        private(set) var mostAtOnce = 0

        func read() async {
            underWay += 1
            mostAtOnce = max(mostAtOnce, underWay)
            if !isFree { await withCheckedContinuation { waiting.append($0) } }
            underWay -= 1
        }

        func resume() {
            isFree = true
            waiting.forEach { $0.resume() }
            waiting = []
        }
    }

    @Test func `reloads requested during a reload run after it and once, so the files' last state is used`()
        async
    {
        let files = Files()
        let (began, beginning) = AsyncStream<ReloadQueue.Kind>.makeStream()
        let reloads = ReloadQueue { kind in
            beginning.yield(kind)
            await files.read()
        }
        var next = began.makeAsyncIterator()
        await reloads.want(.keys)
        let first = await next.next()
        expect(first, equals: .keys)
        // The reload in progress may have read its files already.
        for _ in 0..<3 { await reloads.want(.files, .changedKeys, .keys, .certificate) }
        await files.resume()
        for kind in ReloadQueue.Kind.allCases {
            let read = await next.next()
            expect(read, equals: kind)
        }
        await reloads.want(.certificate)
        let last = await next.next()
        expect(last, equals: .certificate)
        await expect(files.mostAtOnce, equals: 1)
    }
}

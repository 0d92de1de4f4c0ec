import Expectations
import Foundation
import ProcessSignals
import Testing

@Suite(.serialized, .timeLimit(.minutes(1))) struct ProcessSignalsTests {
    @Test func `an immediate signal reaches every listener`() async {
        for _ in 0..<20 {
            let (first, tellFirst) = AsyncStream<Int32>.makeStream()
            let (second, tellSecond) = AsyncStream<Int32>.makeStream()
            let signals = [
                ProcessSignals([SIGUSR1, SIGUSR2]) { tellFirst.yield($0) },
                ProcessSignals([SIGUSR1]) { tellSecond.yield($0) },
            ]
            kill(getpid(), SIGUSR1)
            for await number in first {
                expect(number, equals: SIGUSR1)
                break
            }
            for await number in second {
                expect(number, equals: SIGUSR1)
                break
            }
            withExtendedLifetime(signals) {}
        }
    }
}

import PresenceProtocol

/// The times of an event's next tries: after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, as Standard Webhooks proposes, each
/// a fifth more or less, so that events that failed together are not tried together. Ten tries, within 76 hours on
/// average and 91 at most.
enum RetrySchedule {
    private static let pauses: [Milliseconds] =
        [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map { $0 * 1_000 }

    static let mostTries = pauses.count + 1
    /// A receiver may ask for no longer a pause.
    private static let longest: Milliseconds = 86_400_000

    /// Until the next try; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - tries: The number of failed tries, including this one.
    ///   - asked: The pause that the receiver asked for, in ms.
    ///   - spread: From -1 to 1: where in the fifth.
    static func pause(after tries: Int, asked: Milliseconds = 0, spread: Double) -> Milliseconds? {
        guard (1...pauses.count).contains(tries) else { return nil }
        let pause = Double(pauses[tries - 1]) * (1 + 0.2 * min(max(spread, -1), 1))
        return max(Milliseconds(pause), min(asked, longest))
    }

    /// The rest of a receiver of which nothing but failures has come, so many times.
    static func rest(after failures: Int) -> Milliseconds {
        min(60_000, 1_000 << Milliseconds(min(max(failures - 1, 0), 6)))
    }

    /// The seconds of `Retry-After`, in ms; a date is ignored.
    static func asked(_ header: String?) -> Milliseconds {
        guard let header, let seconds = Milliseconds(header), seconds > 0 else { return 0 }
        return min(seconds, longest / 1_000) * 1_000
    }
}

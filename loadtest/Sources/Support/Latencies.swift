import Histogram

/// Latencies of one kind, in nanoseconds, kept in an HDR histogram of three significant digits.
struct Latencies {
    private var histogram = Histogram<UInt64>(
        lowestDiscernibleValue: 1_000, highestTrackableValue: 60_000_000_000, numberOfSignificantValueDigits: .three)

    private var largest: Nanoseconds = 0

    init() { histogram.autoResize = true }

    mutating func record(_ latency: Nanoseconds, count: Int = 1) {
        histogram.record(UInt64(max(0, latency)), count: UInt64(count))
        largest = max(largest, latency)
    }

    var count: Int { Int(histogram.totalCount) }

    /// The latency below which this share of all stayed.
    func percentile(_ percentile: Double) -> Nanoseconds {
        min(largest, Nanoseconds(clamping: histogram.valueAtPercentile(percentile)))
    }

    var summary: Summary? {
        guard count > 0 else { return nil }
        return Summary(
            count: count, p50: percentile(50).inMilliseconds, p90: percentile(90).inMilliseconds,
            p99: percentile(99).inMilliseconds, p999: percentile(99.9).inMilliseconds,
            max: largest.inMilliseconds)
    }

    /// The form in reports, in milliseconds.
    struct Summary: Codable, Equatable, CustomStringConvertible {
        var count: Int
        var p50: Double
        var p90: Double
        var p99: Double
        var p999: Double
        var max: Double

        var description: String {
            let figures = [("p50", p50), ("p90", p90), ("p99", p99), ("p99.9", p999), ("max", max)]
            return figures.map { "\($0) \(formatted($1, digits: 3)) ms" }.joined(separator: "  ")
        }
    }
}

extension Nanoseconds {
    /// Rounded to a microsecond.
    fileprivate var inMilliseconds: Double { (Double(self) / 1e3).rounded() / 1e3 }
}

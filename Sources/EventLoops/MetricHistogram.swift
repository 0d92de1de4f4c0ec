/// Counts of values by range, for a Prometheus histogram.
public struct MetricHistogram: Sendable {
    public let bounds: [Int64]
    /// The count of each range between two bounds; the last one counts the values above all bounds.
    public private(set) var counts: [Int]
    public private(set) var sum: Int64 = 0

    public init(bounds: [Int64]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    public var count: Int { counts.reduce(0, +) }

    public mutating func record(_ value: Int64, times: Int = 1) {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        counts[index] += times
        sum += value * Int64(times)
    }

    /// - Parameter other: one with the same bounds.
    public mutating func add(_ other: MetricHistogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        sum += other.sum
    }
}

/// The samples of Prometheus' text format, by name and labels as they are written.
struct MetricsText {
    private let samples: [String: Double]

    init(_ text: String) {
        var samples: [String: Double] = [:]
        for line in text.split(separator: "\n") where line.first != "#" {
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                continue
            }
            samples[String(line[..<space])] = value
        }
        self.samples = samples
    }

    /// The value of a metric, named without `presence_`; the sum over its labels if it has some; `nil` if it is missing.
    subscript(name: String) -> Double? {
        if let value = samples["presence_" + name] { return value }
        let labelled = samples.filter { $0.key.hasPrefix("presence_\(name){") }
        return labelled.isEmpty ? nil : labelled.values.reduce(0, +)
    }

    /// The counts of a histogram's buckets by their bounds, in seconds; the bucket without a bound is last.
    func buckets(of name: String) -> [(bound: Double, count: Double)] {
        let start = "presence_\(name)_bucket{le=\""
        return samples.compactMap { key, count in
            guard key.hasPrefix(start) else { return nil }
            let bound = key.dropFirst(start.count).dropLast(2)
            return (bound == "+Inf" ? .infinity : Double(bound) ?? .infinity, count)
        }.sorted { $0.bound < $1.bound }
    }

    /// The value of the label `version` of `presence_build_info`.
    var version: String? {
        let key = samples.keys.first { $0.hasPrefix("presence_build_info{version=\"") }
        return key?.split(separator: "\"", omittingEmptySubsequences: false).dropFirst().first.map(String.init)
    }
}

import Foundation

/// A generator whose numbers follow from a seed (SplitMix64), so that a run can be repeated, and the distributions that
/// load models use.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return bits ^ bits >> 31
    }

    /// Even in 0..<1.
    mutating func unit() -> Double { Double(next() >> 11) / Double(1 << 53 as UInt64) }

    mutating func chance(_ probability: Double) -> Bool { unit() < probability }

    /// The wait for the next of events that occur independently of each other.
    mutating func exponential(mean: Double) -> Double { -mean * log(1 - unit()) }

    /// `sigma` of the logarithm: at 1.5 one of a hundred is more than 30 times the median.
    mutating func logNormal(median: Double, sigma: Double) -> Double {
        let normal = (-2 * log(1 - unit())).squareRoot() * cos(2 * .pi * unit())
        return median * exp(sigma * normal)
    }

    /// The smaller `alpha`, the heavier the tail; at 1 and below there is no mean.
    mutating func pareto(median: Double, alpha: Double) -> Double {
        median * pow(2 * (1 - unit()), -1 / alpha)
    }
}

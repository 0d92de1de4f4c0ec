import Foundation

/// Lines that are compared with any part of a text: an automaton (Aho and Corasick) that reads each byte of a text once,
/// however many lines there are.
///
/// Both spellings of an accent are the same. A line is also found before a mark that Unicode cannot join with its end.
struct BlockedParts: Sendable, Equatable {
    /// The states after a state and a byte. State 0 has read nothing of any line.
    private var steps: [UInt64: UInt32] = [:]
    /// The states after state 0, where most bytes are read.
    private var firsts = [UInt32](repeating: 0, count: 256)
    /// The state after a byte that leads to no other: that of the longest end of its bytes that begins a line.
    private var fallbacks: [UInt32] = [0]
    /// Whether the bytes of a state end with a line.
    private var isWhole = [false]

    var isEmpty: Bool { steps.isEmpty }

    /// - Parameter lines: None is empty.
    init(_ lines: [String]) {
        var edges: [[(byte: UInt8, state: UInt32)]] = [[]]
        for line in lines {
            var state: UInt32 = 0
            for byte in Self.composed(line).utf8 {
                if let next = steps[Self.step(state, byte)] {
                    state = next
                    continue
                }
                let next = UInt32(edges.count)
                steps[Self.step(state, byte)] = next
                edges[Int(state)].append((byte, next))
                edges.append([])
                isWhole.append(false)
                state = next
            }
            isWhole[Int(state)] = true
        }
        for (byte, state) in edges[0] { firsts[Int(byte)] = state }
        fallbacks = Array(repeating: 0, count: edges.count)
        // Shorter states first: those that a state falls back to are ready.
        var (order, done) = ([UInt32(0)], 0)
        while done < order.count {
            let state = order[done]
            done += 1
            for (byte, next) in edges[Int(state)] {
                if state != 0 { fallbacks[Int(next)] = after(fallbacks[Int(state)], byte) }
                if isWhole[Int(fallbacks[Int(next)])] { isWhole[Int(next)] = true }
                order.append(next)
            }
        }
    }

    /// Whether a text has one of them.
    func areIn(_ text: String) -> Bool {
        guard !isEmpty else { return false }
        var state: UInt32 = 0
        for byte in Self.composed(text).utf8 {
            state = after(state, byte)
            if isWhole[Int(state)] { return true }
        }
        return false
    }

    private func after(_ state: UInt32, _ byte: UInt8) -> UInt32 {
        var state = state
        while state != 0 {
            if let next = steps[Self.step(state, byte)] { return next }
            state = fallbacks[Int(state)]
        }
        return firsts[Int(byte)]
    }

    private static func step(_ state: UInt32, _ byte: UInt8) -> UInt64 { UInt64(state) << 8 | UInt64(byte) }

    private static func composed(_ text: String) -> String {
        text.utf8.allSatisfy { $0 < 0x80 } ? text : text.precomposedStringWithCanonicalMapping
    }
}

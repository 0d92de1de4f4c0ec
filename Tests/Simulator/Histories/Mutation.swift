import Redis

@testable import PresenceCore
@testable import PresenceServer

/// A deliberate bug, to show that histories find it.
struct Mutation: Sendable, CustomStringConvertible {
    let name: String
    var description: String { name }
    /// In the scripts: the line with this mark, and its replacement (``ScriptMistake``).
    var mistake: (mark: String, line: String)?
    /// The kinds of faults in the histories that search for it; `nil`: any.
    var faults: [Int]?
    /// Whether drawn histories show it from time to time. Some bugs show once in thousands, since few ms decide: those
    /// have a stored history.
    var isSearched = true
    /// In the code that relies on the ports.
    var misbehaviour: Set<PortMisbehaviour> = []
    /// The rule that is broken by it.
    let shows: Violation.Rule
    /// Few steps that are enough to show it.
    let history: SimulatedHistory

    /// The scripts that contain the bug.
    var substitutes: [Script: RedisScript] {
        guard let mistake else { return [:] }
        return ScriptMistake(name: name, at: mistake.mark, becomes: mistake.line).substitutes(in: Script.allCases)
    }
}

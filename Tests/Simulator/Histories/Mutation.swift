import Redis

@testable import PresenceCore
@testable import PresenceServer

/// A mistake that is made on purpose, to show that histories find it.
struct Mutation: Sendable, CustomStringConvertible {
    let name: String
    var description: String { name }
    /// In the scripts: what is replaced by what, in all of them that have it.
    var replacing: (old: String, new: String)?
    /// The kinds of faults in whose histories it is looked for; `nil`: any.
    var faults: [Int]?
    /// Drawn histories show it now and then. Some show it once in thousands, since few ms decide: those have their kept history.
    var isSearched = true
    /// In what relies on the ports.
    var misbehaviour: Set<PortMisbehaviour> = []
    /// The rule that is broken by it.
    let shows: Violation.Rule
    /// Few steps that are enough to show it.
    let history: SimulatedHistory

    /// The scripts with the mistake in them.
    var substitutes: [Script: RedisScript] {
        guard let replacing else { return [:] }
        return ScriptMistake(name: name, old: replacing.old, new: replacing.new).substitutes(in: Script.allCases)
    }
}

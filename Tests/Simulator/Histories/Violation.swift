/// A broken rule.
struct Violation: Error, Sendable, CustomStringConvertible {
    let rule: Rule
    let detail: String

    /// The rules of every history.
    enum Rule: String, Sendable {
        case view = "after a quiet, what a watcher shows is the truth"
        case truth = "after a quiet, Redis holds what is so"
        case announcedOnce = "a change of state is announced once"
        case growth = "versions only grow"
        case ghost = "nobody is shown longer than the bound after they have gone"
        case flicker = "nobody is seen to go who is back within linger"
        case silentLie = "what is not known to be true is said to be stale"
        case lost = "what was acknowledged is stored"
        case younger = "of two connections of one device the younger stays"
        case order = "no event comes before its snapshot, or after its end"
        case live = "after a quiet, every server serves"
        case leak = "what nobody needs any more is gone"
        case typing = "nobody is left typing"
        case invisible = "someone invisible is never shown typing"
        case admission = "nothing is done for a client that is not let in"
        case banned = "who was disconnected, or whose token was revoked, is gone"
    }

    var description: String { "\(rule.rawValue): \(detail)" }
}

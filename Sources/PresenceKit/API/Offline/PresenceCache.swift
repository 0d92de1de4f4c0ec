import Foundation

/// Where the client keeps what it knew of people, to show it (marked stale) while it is away.
///
/// Calls come one after the other, never two at a time, so each has to return: the next one, a sign-out and a change of
/// user wait for it. A store on disk should keep the people of one user apart from
/// another's and drop all on ``removeAll()``, which sign-out and a change of user call.
public protocol PresenceCache: Sendable {
    /// Those of `users` that are stored, in any order.
    func read(_ users: [String]) async -> [CachedPerson]
    /// Stores each, replacing what was stored of them.
    func write(_ people: [CachedPerson]) async
    /// Forgets everybody.
    ///
    /// - Throws: if somebody may still be found at the next launch; the client logs it.
    func removeAll() async throws
}

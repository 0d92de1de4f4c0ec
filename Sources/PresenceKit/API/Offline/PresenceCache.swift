import Foundation

/// Stores the last known data of users, so that the client can show it, marked stale, while it is disconnected.
///
/// The client never makes two calls at the same time. So each call must return: the next call, a sign-out and a change
/// of user wait for it. A store on disk should keep the data of different signed-in users apart, and drop all of it in
/// ``removeAll()``, which sign-out and a change of user call.
package protocol PresenceCache: Sendable {
    /// Returns those of `users` that are stored, in any order.
    func read(_ users: [String]) async -> [CachedPerson]
    /// Stores each user, replacing the data stored before.
    func write(_ people: [CachedPerson]) async
    /// Removes all users.
    ///
    /// - Throws: if data may survive until the next launch; the client logs the error.
    func removeAll() async throws
}

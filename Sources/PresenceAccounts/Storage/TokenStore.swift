import Foundation

/// Stores the session of the signed-in user on this device, one at a time.
///
/// ``PresenceAccount`` calls it from one task at a time and waits; a saved session must survive a crash. A store serves
/// one server, and one account object in a process. Processes of one app may share its data
/// (`KeychainTokenStore(accessGroup:)`): each reads it before it renews the session.
///
/// Implementations: ``FileTokenStore``, ``MemoryTokenStore`` and, on Apple platforms, `KeychainTokenStore`.
package protocol TokenStore: Sendable {
    /// Returns the stored session; `nil` if no user is signed in.
    ///
    /// - Throws: if it cannot be read now. Unlike `nil`, this signs no user out. A session that can never be read
    ///   (damaged, or written by a later version) is set aside, and the result is `nil`.
    func load() throws -> StoredSession?
    /// Replaces the stored session atomically.
    func save(_ session: StoredSession) throws
    /// Removes the stored session; does nothing if there is none.
    func clear() throws

    /// Returns the refresh tokens of sessions that were signed out while the server could not be reached, so that it
    /// can be notified later.
    func loadFarewells() throws -> [String]
    /// Replaces the tokens that ``loadFarewells()`` returns.
    func saveFarewells(_ tokens: [String]) throws
}

extension TokenStore {
    /// By default they are not stored, and only kept for the life of the process.
    package func loadFarewells() throws -> [String] { [] }
    package func saveFarewells(_ tokens: [String]) throws {}
}

/// The stored part of a session. The access token is not stored: a new one is fetched at each launch.
package struct StoredSession: Codable, Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// A secret: it is sufficient to act as the user.
    package var refreshToken: String
    /// The last known account, shown while the server cannot be reached.
    package var account: Account
    /// When it was stored, by this device's clock.
    package var savedAt: Date

    /// Creates a session, for stores and fakes.
    package init(refreshToken: String, account: Account, savedAt: Date) {
        (self.refreshToken, self.account, self.savedAt) = (refreshToken, account, savedAt)
    }

    /// Omits the token, so that it does not appear in logs.
    package var description: String { "StoredSession(\(account.id))" }
    /// The same as ``description``, without the token.
    package var debugDescription: String { description }

    private static let format = 1

    private struct File: Codable {
        var format: Int
        var session: StoredSession
    }

    /// The encoding in files and keychains.
    func encoded() throws -> Data { try JSONEncoder().encode(File(format: Self.format, session: self)) }

    /// Why a stored session can never be used by this version.
    enum Unusable: String, Error {
        case damaged
        /// Written by a later version of this library.
        case later
    }

    init(encoded data: Data) throws(Unusable) {
        struct Head: Decodable { var format: Int }
        guard let format = try? JSONDecoder().decode(Head.self, from: data).format else { throw .damaged }
        guard format <= Self.format else { throw .later }
        guard let session = try? JSONDecoder().decode(File.self, from: data).session else { throw .damaged }
        self = session
    }
}

// @unchecked: `session` is only touched with the lock.
/// Keeps the session for the life of the process, for tests and tools.
package final class MemoryTokenStore: TokenStore, @unchecked Sendable {
    private let lock = NSLock()
    private var session: StoredSession?
    private var farewells: [String] = []

    /// Creates a store with this session; empty by default.
    package init(_ session: StoredSession? = nil) { self.session = session }

    package func load() -> StoredSession? { lock.withLock { session } }
    package func save(_ session: StoredSession) { lock.withLock { self.session = session } }
    package func clear() { lock.withLock { session = nil } }
    package func loadFarewells() -> [String] { lock.withLock { farewells } }
    package func saveFarewells(_ tokens: [String]) { lock.withLock { farewells = tokens } }
}

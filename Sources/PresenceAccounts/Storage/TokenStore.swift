import Foundation

/// Where the session of the signed-in user is kept on this device: one at a time.
///
/// ``PresenceAccount`` calls it from one task at a time, and waits: what was saved must be there after a crash. A store
/// serves one server, and one account object in a process. Processes of one app may share what it keeps
/// (`KeychainTokenStore(accessGroup:)`): each looks into it before it renews the session.
///
/// There are ``FileTokenStore``, ``MemoryTokenStore`` and, on Apple's systems, `KeychainTokenStore`.
public protocol TokenStore: Sendable {
    /// What is kept; `nil` if nobody is signed in.
    ///
    /// - Throws: it cannot be read now. That is not the same as `nil`, and signs nobody out. What can never be read (damaged, or
    ///   written by a later version) is set aside, and `nil`.
    func load() throws -> StoredSession?
    /// Replaces what is kept, as a whole.
    func save(_ session: StoredSession) throws
    /// Removes what is kept; that there is nothing is no error.
    func clear() throws

    /// The refresh tokens of sessions that were signed out while the server was out of reach: it is told when it is back.
    func loadFarewells() throws -> [String]
    /// Replaces them.
    func saveFarewells(_ tokens: [String]) throws
}

extension TokenStore {
    /// By default they are kept no longer than the process lives.
    public func loadFarewells() throws -> [String] { [] }
    public func saveFarewells(_ tokens: [String]) throws {}
}

/// What a device keeps of a session. The access token is not kept: a new one is fetched at each launch.
public struct StoredSession: Codable, Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// A secret: it is all that is needed to act as the user.
    public var refreshToken: String
    /// As last known, to be shown while the server is out of reach.
    public var account: Account
    /// When it was stored, by this device's clock.
    public var savedAt: Date

    /// Makes a session, as a store or a fake needs it.
    public init(refreshToken: String, account: Account, savedAt: Date) {
        self.refreshToken = refreshToken
        self.account = account
        self.savedAt = savedAt
    }

    /// Without the token, so that it is in no log.
    public var description: String { "StoredSession(\(account.id))" }
    /// As the description: without the token.
    public var debugDescription: String { description }

    private static let format = 1

    private struct File: Codable {
        var format: Int
        var session: StoredSession
    }

    /// As files and keychains have it.
    func encoded() throws -> Data { try JSONEncoder().encode(File(format: Self.format, session: self)) }

    /// Why a session that is there cannot be used, and never will be by this version.
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
/// Keeps the session as long as the process lives, for tests and tools.
public final class MemoryTokenStore: TokenStore, @unchecked Sendable {
    private let lock = NSLock()
    private var session: StoredSession?
    private var farewells: [String] = []

    /// Makes a store that keeps this session; by default none.
    public init(_ session: StoredSession? = nil) { self.session = session }

    public func load() -> StoredSession? { lock.withLock { session } }
    public func save(_ session: StoredSession) { lock.withLock { self.session = session } }
    public func clear() { lock.withLock { session = nil } }
    public func loadFarewells() -> [String] { lock.withLock { farewells } }
    public func saveFarewells(_ tokens: [String]) { lock.withLock { farewells = tokens } }
}

import PresenceCore
import PresenceProtocol
import Redis

/// The command `presenced key`: keys of backends, on the Redis of running servers.
///
/// For one thread. It waits for Redis, so it is for a tool and never for a loop.
public struct KeyConsole {
    private let place: ConsoleStore
    private let configuration: ServerConfiguration
    private var keys: PartitionKeys { place.partitions.keys(0) }

    /// The names of all scopes.
    public static let scopes = CallScope.all.map(\.name)

    /// - Throws: ``ConsoleFailure`` if Redis cannot be reached, or no server of this version has used it.
    public init(url: String, configuration: ServerConfiguration) throws(ConsoleFailure) {
        place = try ConsoleStore(url: url, configuration: configuration)
        self.configuration = configuration
    }

    /// A key, as operators see it.
    public struct Key: Encodable, Sendable {
        public let id: String
        public let name: String
        public let scopes: [String]
        /// In ms since 1970, like all times.
        public let createdAt: Int64
        public let expiresAt: Int64?
        public let rotatedAt: Int64?
        /// Until when the secret before the last rotation is accepted.
        public let oldUntil: Int64?
    }

    /// All keys, by name.
    public func list() throws -> [Key] {
        let words = try place.store[keys.shards].run("HGETALL", keys.backendKeys).array ?? []
        return StoredKey.all(words.compactMap(\.string)).map {
            Key(
                id: $0.id, name: $0.name, scopes: $0.scopes, createdAt: $0.createdAt, expiresAt: $0.expiresAt,
                rotatedAt: $0.rotatedAt, oldUntil: $0.oldUntil)
        }
    }

    /// Makes a key.
    ///
    /// - Parameter lifetime: In ms; `nil` for a key that does not expire.
    /// - Returns: Its text, which is kept nowhere.
    /// - Throws: ``ConsoleFailure`` for a name or scopes that break the rules, a name that another key has, or too many keys.
    public func make(_ name: String, scopes: [String], lifetime: Int64?) throws -> String {
        let key = BackendKey()
        _ = try run {
            .making(key, try BackendKeyRequest(name: name, scopes: scopes, lifetime: lifetime), in: keys)
        }
        return key.text
    }

    /// Gives a key another secret.
    ///
    /// - Parameters:
    ///   - wanted: The key's id or name.
    ///   - overlap: How long the present secret is accepted as well, in ms.
    /// - Returns: Its new text, which is kept nowhere.
    public func rotate(_ wanted: String, overlap: Int64) throws -> String {
        var key = BackendKey()
        let reply = try run {
            try BackendKeyRequest.check(overlap: overlap)
            return .rotating(wanted, to: key, overlap, in: keys)
        }
        key.id = reply[0].string ?? ""
        return key.text
    }

    /// Ends a key at once.
    ///
    /// - Parameter wanted: Its id or name.
    public func revoke(_ wanted: String) throws { _ = try run { .revoking(wanted, in: keys) } }

    private func run(_ call: () throws -> ScriptCall) throws -> ScriptReply {
        do {
            return try place.run(call(), in: keys, configuration).accepted(or: BackendKeyRefusal.self)
        } catch let failure as DecodingFailure {
            throw ConsoleFailure(failure.message)
        } catch let refusal as Refusal {
            throw ConsoleFailure(refusal.message.message)
        }
    }
}

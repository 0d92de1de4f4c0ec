import Foundation

/// A request that the app was promised will be made: kept until the server has answered it.
///
/// Writes of one lane are made in order, one after the other; lanes do not wait for each other. The server does a write
/// once, whatever happens on the way: because its values are whole (a profile), or because it knows the `id` (a message).
public struct QueuedWrite: Codable, Hashable, Sendable, Identifiable {
    /// Made here, and never again.
    public let id: String
    /// The user who made it; `nil` if that was not known. Nobody else's connection makes it.
    public let owner: String?
    /// `profile`, `status`, `notifications`, or the conversation that a message goes to.
    public let lane: String
    /// What is to be made of it, and how `body` is to be read.
    public let kind: String
    /// What is asked for, as the part of the library that made the write encodes it.
    public let body: Data
    /// When it was made, by this device's clock.
    public let queuedAt: Date

    /// Makes a write. Its `id` is used once, on any device.
    public init(
        id: String = UUID().uuidString, owner: String? = nil, lane: String, kind: String, body: Data, queuedAt: Date
    ) {
        self.id = id
        self.owner = owner
        self.lane = lane
        self.kind = kind
        self.body = body
        self.queuedAt = queuedAt
    }
}

/// Where writes wait. A write is safe when ``append(_:)`` returns, and gone when ``remove(_:)`` returns.
///
/// Calls come one after the other, never two at a time.
public protocol WriteQueue: Sendable {
    /// Whose writes they are, and the writes in the order appended.
    func load() async throws -> (owner: String?, writes: [QueuedWrite])
    /// Notes whose storage this is, and forgets the writes of other users and those without an owner.
    func setOwner(_ user: String) async throws
    /// - Throws: if it cannot be kept: ``StorageError``.
    func append(_ write: QueuedWrite) async throws
    /// Takes out writes that the server has answered.
    func remove(_ ids: [String]) async throws
    /// Forgets the owner and all writes.
    func removeAll() async throws
}

/// Keeps writes as long as the process lives.
public actor MemoryWriteQueue: WriteQueue {
    private let capacity: Int
    private var owner: String?
    private var writes: [QueuedWrite] = []

    /// Makes an empty queue; an append beyond `capacity` throws ``StorageError/full(_:)``.
    public init(capacity: Int = 10_000) {
        self.capacity = capacity
    }

    public func load() -> (owner: String?, writes: [QueuedWrite]) { (owner, writes) }
    public func setOwner(_ user: String) {
        owner = user
        writes.removeAll { $0.owner != user }
    }
    public func append(_ write: QueuedWrite) throws {
        guard writes.count < capacity else { throw StorageError.full(capacity) }
        writes.append(write)
    }
    public func remove(_ ids: [String]) { writes.removeAll { ids.contains($0.id) } }
    public func removeAll() {
        owner = nil
        writes = []
    }
}

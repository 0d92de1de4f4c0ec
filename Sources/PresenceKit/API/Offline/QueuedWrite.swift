import Foundation

/// A request that the client promised to make; it is kept until the server has replied.
///
/// Writes in the same lane are made in order; lanes do not wait for each other. Retries are safe: the server applies a
/// write once, because its values are complete (a profile) or because the server recognizes the `id` (a message).
package struct QueuedWrite: Codable, Hashable, Sendable, Identifiable {
    /// A unique id, made on this device.
    package let id: String
    /// The user who made the write, or `nil` if that was unknown. It is never made on another user's connection.
    package let owner: String?
    /// `profile`, `status`, `notifications`, or the id of the conversation to which a message is sent.
    package let lane: String
    /// The type of the write, which determines the encoding of `body`.
    package let kind: String
    /// The request, as encoded by the part of the library that made the write.
    package let body: Data
    /// When the write was made, by this device's clock.
    package let queuedAt: Date
    /// `true` if a power cut may lose it, since users hardly notice: a mark of reading. Flushing the disk at each message
    /// that is read would cost more than the message.
    package let mayGetLost: Bool?

    /// Creates a write. Its `id` must be unique over all devices.
    package init(
        id: String = UUID().uuidString, owner: String? = nil, lane: String, kind: String, body: Data, queuedAt: Date,
        mayGetLost: Bool? = nil
    ) {
        (self.id, self.owner, self.lane, self.kind) = (id, owner, lane, kind)
        (self.body, self.queuedAt, self.mayGetLost) = (body, queuedAt, mayGetLost)
    }
}

/// Stores pending writes. A write survives a kill, and a power cut unless it may get lost, once ``append(_:)`` returns, and removed once ``remove(_:)`` returns.
///
/// The client never makes two calls at the same time.
package protocol WriteQueue: Sendable {
    /// Returns the owner of the writes, and the writes in the order in which they were appended.
    func load() async throws -> (owner: String?, writes: [QueuedWrite])
    /// Sets the owner of the storage, and removes the writes of other users and those without an owner.
    func setOwner(_ user: String) async throws
    /// - Throws: ``StorageError`` if the write cannot be stored.
    func append(_ write: QueuedWrite) async throws
    /// Removes writes that the server has replied to.
    func remove(_ ids: [String]) async throws
    /// Removes the owner and all writes.
    func removeAll() async throws
}

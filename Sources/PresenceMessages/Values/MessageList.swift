import PresenceKit

/// The messages of a conversation, and the changes since the loop's previous element.
///
/// As a collection it has the messages, oldest first, as rows of a list.
public struct MessageList: RandomAccessCollection, Codable, Hashable, Sendable {
    /// All messages, oldest first; unsent ones at the end.
    public let messages: [Message]
    /// The changes since the loop's previous element. When the server has stored a sent message, it is `changed` and
    /// not `added`, because its id stays the same.
    public var changes: ListChanges
    /// Whether the messages come from this device, and the server has not confirmed them since the launch. Not encoded.
    public var isStale = false

    private enum CodingKeys: String, CodingKey { case messages, changes }

    /// Creates a list, for fakes and previews; by default empty and without changes.
    public init(_ messages: [Message] = [], changes: ListChanges = ListChanges()) {
        self.messages = messages
        self.changes = changes
    }

    public var startIndex: Int { messages.startIndex }
    public var endIndex: Int { messages.endIndex }
    public subscript(position: Int) -> Message { messages[position] }

    /// The message with this id.
    public subscript(id: String) -> Message? { messages.first { $0.id == id } }

    /// Adds to each element the changes since the previous one.
    static func updates<Base: AsyncSequence & Sendable>(
        _ lists: Base
    ) -> PresenceUpdates<MessageList> where Base.Element == MessageRows {
        PresenceUpdates(
            Compared(lists) { newer, former in
                let (before, after) = newer.differing(from: former)
                var list = MessageList(newer.messages, changes: ListChanges(from: before, to: after, by: \.id))
                list.isStale = newer.isStale
                return list
            })
    }
}

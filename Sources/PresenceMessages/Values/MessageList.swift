import PresenceKit

/// The messages of a conversation as they are now, and what is different from what the same loop got before.
///
/// It is a collection of the messages, oldest first: rows of a list.
public struct MessageList: RandomAccessCollection, Codable, Hashable, Sendable {
    /// All of them, oldest first; those that this device has not sent yet stand at the end.
    public let messages: [Message]
    /// What is different from the element before, of the same loop. A message on its way is `changed`, and not `added`, when
    /// the server has it: its id stays.
    public var changes: ListChanges

    /// Makes a list, as a fake or a preview needs it; by default an empty one without changes.
    public init(_ messages: [Message] = [], changes: ListChanges = ListChanges()) {
        self.messages = messages
        self.changes = changes
    }

    public var startIndex: Int { messages.startIndex }
    public var endIndex: Int { messages.endIndex }
    public subscript(position: Int) -> Message { messages[position] }

    /// One of them.
    public subscript(id: String) -> Message? { messages.first { $0.id == id } }

    /// Says in each element what is different from the one before it.
    package static func updates<Base: AsyncSequence & Sendable>(
        _ lists: Base
    ) -> PresenceUpdates<MessageList> where Base.Element == [Message] {
        PresenceUpdates(
            Compared(lists) { newer, former in
                MessageList(newer, changes: ListChanges(from: former ?? [], to: newer, by: \.id))
            })
    }
}

/// How far a message has come. It only goes forward.
public enum MessageStatus: String, Codable, Hashable, Sendable, CaseIterable {
    /// Kept on this device, on its way to the server.
    case sending
    /// The server has stored it.
    case sent
    /// It has arrived at every other member.
    case delivered
    /// Every other member has read it.
    case read
    /// The server will not have it: it waits for a retry, or to be discarded.
    case failed

    /// The order in which they follow; `sending` and `failed` are both before `sent`.
    public var sortOrder: Int {
        switch self {
        case .sending, .failed: 0
        case .sent: 1
        case .delivered: 2
        case .read: 3
        }
    }

    /// Whether `newer` may follow: forward, and between `sending` and `failed` to and fro.
    public func canTransition(to newer: MessageStatus) -> Bool {
        newer.sortOrder > sortOrder || (newer.sortOrder == 0 && sortOrder == 0 && newer != self)
    }
}

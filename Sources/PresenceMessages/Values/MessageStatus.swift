/// The status of a message. It only advances.
public enum MessageStatus: String, Codable, Hashable, Sendable, CaseIterable {
    /// Stored on this device, and not yet by the server.
    case sending
    /// The server has stored it.
    case sent
    /// It has arrived at all other members.
    case delivered
    /// All other members have read it.
    case read
    /// The server rejected it; it waits for a retry, or to be discarded.
    case failed

    /// The order of the states; `sending` and `failed` are both before `sent`.
    public var sortOrder: Int {
        switch self {
        case .sending, .failed: 0
        case .sent: 1
        case .delivered: 2
        case .read: 3
        }
    }

    /// Whether `newer` may follow this state: only forward, except between `sending` and `failed`.
    public func canTransition(to newer: MessageStatus) -> Bool {
        newer.sortOrder > sortOrder || (newer.sortOrder == 0 && sortOrder == 0 && newer != self)
    }
}

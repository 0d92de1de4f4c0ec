import PresenceProtocol

/// Who may see the user, and whom they list.
public struct MyVisibility: Hashable, Sendable {
    /// To anyone else the user looks like somebody of whom nothing is known.
    public var presence: Audience
    /// Of those: who also sees since when the user is offline.
    public var lastSeen: Audience
    /// Those to whom `contacts` shows something, in the order of their ids.
    public var contacts: [String]
    /// Those to whom nothing is ever shown, in the order of their ids.
    public var blocked: [String]

    public init(presence: Audience, lastSeen: Audience, contacts: [String] = [], blocked: [String] = []) {
        self.presence = presence
        self.lastSeen = lastSeen
        self.contacts = contacts
        self.blocked = blocked
    }
}

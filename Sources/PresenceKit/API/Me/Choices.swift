/// What a user chooses for all their devices.
public enum ChosenStatus: String, Codable, Sendable, CaseIterable {
    /// What the devices do: online, or away while all of them are idle.
    case auto
    /// Here, and not to be disturbed, whatever the devices do.
    case busy
    /// Offline to everyone else.
    case invisible
}

/// What the user of this device is doing.
public enum Activity: String, Codable, Sendable, CaseIterable {
    /// Using the app.
    case active
    /// In front of the app without using it: away, if all devices are.
    case idle
    /// Not looking at the app: the server holds back events.
    case background
}

/// Who may see something of the user.
public enum Audience: String, Codable, Sendable, CaseIterable {
    /// From all users to none. `contacts`: those on the user's own list.
    case everyone, contacts, nobody
}

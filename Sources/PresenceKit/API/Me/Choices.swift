/// The status that a user chooses for all their devices.
public enum ChosenStatus: String, Codable, Sendable, CaseIterable {
    /// Follows the devices: online, or away while all of them are idle.
    case auto
    /// Online but not to be disturbed, regardless of the devices' activity.
    case busy
    /// Appears offline to everyone else.
    case invisible
}

/// The activity of the user on this device.
public enum Activity: String, Codable, Sendable, CaseIterable {
    /// The user is using the app.
    case active
    /// The user is present without using the app. They are shown as away if all their devices are idle.
    case idle
    /// The app is not visible: the server holds back events.
    case background
}

/// The users who may see something.
public enum Audience: String, Codable, Sendable, CaseIterable {
    /// All users, the users on the own list of contacts, or no users.
    case everyone, contacts, nobody
}

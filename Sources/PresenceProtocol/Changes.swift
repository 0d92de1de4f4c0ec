/// A member of a change: absent keeps the value, `null` removes it.
public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    case keep
    case remove
    case set(Value)
}

/// A change of the chosen status. An empty or `null` `text` clears it; without `clearAfter` a pending clearing is
/// cancelled.
public struct StatusChange: Hashable, Sendable {
    public var status: ChosenStatus
    public var text: Change<String>
    public var clearAfter: Milliseconds?

    public init(status: ChosenStatus, text: Change<String> = .keep, clearAfter: Milliseconds? = nil) {
        self.status = status
        self.text = text
        self.clearAfter = clearAfter
    }
}

/// Changes of a profile, applied all or none. `displayName` cannot be removed.
public struct ProfileChanges: Hashable, Sendable {
    public var displayName: Change<String>
    public var photoURL: Change<String>
    public var timezone: Change<String>
    public var locale: Change<String>

    public init(
        displayName: Change<String> = .keep, photoURL: Change<String> = .keep, timezone: Change<String> = .keep,
        locale: Change<String> = .keep
    ) {
        self.displayName = displayName
        self.photoURL = photoURL
        self.timezone = timezone
        self.locale = locale
    }
}

/// The device that a connection comes from.
public struct Device: Hashable, Sendable {
    /// If a user connects twice with the same device id, the newer connection replaces the older one.
    public var id: DeviceID?
    public var kind: DeviceKind
    public var name: String?

    public init(id: DeviceID? = nil, kind: DeviceKind = .other, name: String? = nil) {
        self.id = id
        self.kind = kind
        self.name = name
    }
}

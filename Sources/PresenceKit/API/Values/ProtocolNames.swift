import PresenceProtocol

// The protocol's own words that an app meets, so that it need not import PresenceProtocol.

/// `online`, `away`, `busy` or `offline`, as others see a person.
public typealias PresenceStatus = PresenceProtocol.PresenceStatus
/// What kind of device a person is here with.
public typealias DeviceKind = PresenceProtocol.DeviceKind
/// What a user chooses for all their devices: `auto`, `busy` or `invisible`.
public typealias ChosenStatus = PresenceProtocol.ChosenStatus
/// What the user of this device is doing: `active`, `idle`, or not looking at it (`background`).
public typealias Activity = PresenceProtocol.Activity
/// Whether a text member stays as it is (`.keep`), goes (`.remove`) or becomes another (`.set`).
public typealias TextChange = PresenceProtocol.Change<String>
/// Changes of the own profile, applied whole or not at all.
public typealias ProfileChanges = PresenceProtocol.ProfileChanges
/// Who may see something of the user: `everyone`, their `contacts`, or `nobody`.
public typealias Audience = PresenceProtocol.Audience

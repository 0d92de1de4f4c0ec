import PresenceProtocol

// Both modules declare these names. Tests of the engine use the protocol's types; the app's types are written
// `PresenceKit.`….
typealias Activity = PresenceProtocol.Activity
typealias Audience = PresenceProtocol.Audience
typealias Change = PresenceProtocol.Change
typealias ChosenStatus = PresenceProtocol.ChosenStatus
typealias DeviceKind = PresenceProtocol.DeviceKind
typealias PresenceStatus = PresenceProtocol.PresenceStatus
typealias ProfileChanges = PresenceProtocol.ProfileChanges

import PresenceProtocol

// Both modules declare these. Tests of the engine say what is on the wire; what an app sees is `PresenceKit.`….
typealias Activity = PresenceProtocol.Activity
typealias Audience = PresenceProtocol.Audience
typealias Change = PresenceProtocol.Change
typealias ChosenStatus = PresenceProtocol.ChosenStatus
typealias DeviceKind = PresenceProtocol.DeviceKind
typealias PresenceStatus = PresenceProtocol.PresenceStatus
typealias ProfileChanges = PresenceProtocol.ProfileChanges

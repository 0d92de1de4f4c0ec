/// The device that the app runs on, as it introduces itself to the server.
public struct Device: Codable, Hashable, Sendable {
    /// Of two connections of one user with the same device id the younger takes the other's place, so keep it over
    /// launches: 1 to 128 bytes of printable ASCII without space. `nil`: the one that ``Storage`` keeps; without a storage
    /// on disk, one that is made for the client, and the same on all of its connections.
    public var id: String?
    /// What others see in ``PersonPresence/devices``.
    public var kind: DeviceKind
    /// A name for people to read.
    public var name: String?

    /// Makes a device; by default of the kind that this machine is, with the id that the storage keeps.
    public init(id: String? = nil, kind: DeviceKind = .current, name: String? = nil) {
        self.id = id
        self.kind = kind
        self.name = name
    }
}

/// The device on which the app runs, as it identifies itself to the server.
public struct Device: Codable, Hashable, Sendable {
    /// 1 to 128 bytes of printable ASCII without spaces. A new connection with the same user and device id replaces the
    /// older one, so keep the id over launches. `nil` uses the id in the ``Storage``. Without a storage on disk, the
    /// client makes an id and uses it for all its connections.
    public var id: String?
    /// The kind that others see in ``PersonPresence/devices``.
    public var kind: Device.Kind
    /// A name for display.
    public var name: String?

    /// Creates a device. By default its kind is this machine's, and its id the one in the storage.
    public init(id: String? = nil, kind: Device.Kind = .current, name: String? = nil) {
        (self.id, self.kind, self.name) = (id, kind, name)
    }
}

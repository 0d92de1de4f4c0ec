import PresenceProtocol

/// The true state of one person, because the tool itself caused it.
struct Truth: Equatable {
    /// The person was never connected, and the server has nothing about them.
    var isUnknown = true
    /// The kind of their device while they are connected.
    var device: DeviceKind?
    var displayName: String?

    /// The fault in `shown`, as a sentence; `nil` if it is right.
    func contradiction(by shown: Shown) -> String? {
        guard let presence = shown.presence, let profile = shown.profile else { return "shows nothing" }
        if let wrong = contradiction(by: presence) { return wrong }
        guard profile.displayName == displayName else {
            return "shows the name \(quoted(profile.displayName)), which is \(quoted(displayName))"
        }
        return nil
    }

    private func contradiction(by presence: Presence) -> String? {
        if isUnknown { return presence == .unknown ? nil : "shows \(presence.status.rawValue), and nothing is known" }
        let status: PresenceStatus = device == nil ? .offline : .online
        guard presence.status == status else {
            return "shows \(presence.status.rawValue) (version \(presence.version)), and \(status.rawValue) is true"
        }
        guard presence.version > 0, presence.since != nil else { return "shows \(status.rawValue) without a since" }
        guard presence.text == nil else { return "shows a text that was never written" }
        guard presence.devices == (device.map { [$0] } ?? []) else {
            return "shows the devices \(presence.devices.map(\.rawValue)), and \(device?.rawValue ?? "none") is true"
        }
        guard (presence.lastSeen != nil) == (status == .offline) else { return "shows a wrong lastSeen" }
        return nil
    }

    private func quoted(_ name: String?) -> String { name.map { "“\($0)”" } ?? "none" }
}

import Foundation

/// The actor that runs a session. Being built.
actor SessionShell {}

/// The time of this machine.
struct SystemTime {}

extension PresenceClient {
    convenience init(
        url: URL, token: @escaping TokenProvider, device: Device, configuration: Configuration,
        cache: any PresenceCache, time: SystemTime
    ) {
        self.init(shell: SessionShell())
    }
}

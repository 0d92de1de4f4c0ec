import PresenceKit
import PresenceMessages

extension FakeMessages {
    /// The device registered on the server; `nil` if there is none.
    public var device: PushDevice? { lock.withLock { state.device } }

    @discardableResult
    public func registerDevice(_ device: PushDevice) async throws -> Bool {
        try device.check()
        try await record(.registerDevice(device), needsConnection: false)
        return want(device)
    }

    @discardableResult
    public func removeDevice() async throws -> Bool {
        try await record(.removeDevice, needsConnection: false)
        return want(nil)
    }

    /// While offline, the registration waits for the next connection.
    private func want(_ device: PushDevice?) -> Bool {
        lock.withLock {
            state.wantedDevice = device
            guard !state.isOffline else { return false }
            state.device = device
            return true
        }
    }
}

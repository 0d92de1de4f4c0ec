import PresenceKit
import PresenceMessages

extension FakeMessages: DeviceRepository {
    /// Where the server pushes to; `nil` if this device is not pushed to.
    public var device: PushDevice? { lock.withLock { state.device } }

    @discardableResult
    public func registerDevice(_ device: PushDevice) async throws -> Bool {
        try device.check()
        try await note(.registerDevice(device), needsConnection: false)
        return want(device)
    }

    @discardableResult
    public func removeDevice() async throws -> Bool {
        try await note(.removeDevice, needsConnection: false)
        return want(nil)
    }

    /// While it is offline it is told with the next connection.
    private func want(_ device: PushDevice?) -> Bool {
        lock.withLock {
            state.wantedDevice = device
            guard !state.isOffline else { return false }
            state.device = device
            return true
        }
    }
}

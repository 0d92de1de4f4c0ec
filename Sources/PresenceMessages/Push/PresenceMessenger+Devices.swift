import Foundation
import PresenceKit

/// The app's wish for pushes to this device, and the registration on the server.
struct PushRegistration {
    /// Whether this device should receive pushes; `nil` until the app has called.
    var wish: Wish?
    /// Incremented by each wish.
    var number = 0
    /// Whether the wish must be sent, even if it was sent before.
    var isDue = false
    /// The registered device, the client's token at that time, and the token that the server accepted, which differs if
    /// the client's was rejected.
    var told: (device: PushDevice, token: String, taken: String)?
    /// The last request; the next one waits for it.
    var last: Task<Bool, any Error>?
    /// The number of failures in a row.
    var failures = 0

    enum Wish: Hashable {
        case pushes(PushDevice)
        case noPushes
    }

    /// The maximum delay between two attempts.
    static let longestDelay = Duration.seconds(300)
}

// The registration of this device for pushes while its user is away.
extension PresenceMessenger {
    /// Registers this device for pushes of messages that arrive while its user is away. Call it at each launch, and
    /// whenever the push service returns a new token; the newest call counts.
    ///
    /// If the registration cannot be sent now, it is sent later, for the life of the process: on the next connection,
    /// or on a connection after a growing delay of at most 5 minutes. It is sent again when the session changes:
    /// another user, or a token that replaced the former one.
    ///
    /// The registration belongs to the session of the user's token, and ends with that session. With tokens of the
    /// app's own it belongs to the user, and a user has only one registration: call ``removeDevice()`` before the
    /// sign-out. Without that call the library tries once to remove the registration with the former token, when the
    /// client signs out or changes its user.
    ///
    /// - Returns: whether the server has the registration; `false` if it will be sent later.
    /// - Throws: the server's error: `validationFailed` with `field`, `forbidden`, `notOffered`. The registration is
    ///   not sent again then.
    @discardableResult
    public func registerDevice(_ device: PushDevice) async throws -> Bool {
        try device.check()
        return try await want(.pushes(device))
    }

    /// Removes the registration of this device, because the user does not want pushes or is about to sign out. If it
    /// cannot be sent now, it is sent later as with ``registerDevice(_:)``, while the user is the same, and only once:
    /// with tokens of the app's own, another device of the user may be registered afterwards.
    ///
    /// - Returns: whether the server has removed it; `false` if that will be sent later.
    /// - Throws: as ``registerDevice(_:)``.
    @discardableResult
    public func removeDevice() async throws -> Bool { try await want(.noPushes) }

    private func want(_ wish: PushRegistration.Wish) async throws -> Bool {
        push.wish = wish
        push.number += 1
        (push.isDue, push.failures) = (true, 0)
        return try await telling().value
    }

    /// There is a new connection, whose session may differ from the session that has the registration.
    func recallDevice() {
        guard push.wish != nil else { return }
        push.failures = 0
        _ = telling()
    }

    /// The user signed out. Their registration is removed, if their token is still valid; the next user of this client
    /// gets the pushes.
    func forgetDevice() {
        push.isDue = true
        if push.wish == .noPushes { push.wish = nil }
        if let told = push.told { remove(with: told.taken) }
        push.told = nil
    }

    private func remove(with token: String) {
        push.last = Task { [former = push.last, server] in
            _ = await former?.result
            return (try? await server.send(HTTPServer.Request(.noPushes), token: token)) != nil
        }
    }

    /// Sends the wish to the server, once the last request has ended.
    private func telling() -> Task<Bool, any Error> {
        let telling = next(after: push.last) { try await $0.sendDevice() }
        push.last = telling
        return telling
    }

    private func sendDevice() async throws -> Bool {
        guard let wish = push.wish else { return true }
        let (asked, number) = (generation, push.number)
        do {
            let user = RequestUser(client: client, id: try await ownUser(), number: userNumber)
            let token = try await user.token()
            if !push.isDue, let told = push.told, wish == .pushes(told.device), told.token == token { return true }
            let taken = try await server.send(HTTPServer.Request(wish), as: user, with: token).token
            guard userNumber == user.number, own == user.id else {
                if wish != .noPushes { remove(with: taken) }
                return false
            }
            if number == push.number { (push.isDue, push.failures) = (false, 0) }
            switch wish {
            case .pushes(let device): push.told = (device, token, taken)
            case .noPushes:
                push.told = nil
                if number == push.number { push.wish = nil }
            }
            return true
        } catch let error as PresenceError where error.isPassing && !tasks.isClosed {
            sendDeviceAgain(after: error, asked, number)
            return false
        } catch {
            if number == push.number { push.wish = nil }
            throw error
        }
    }

    private func sendDeviceAgain(after error: PresenceError, _ asked: Int, _ number: Int) {
        // Without a connection or a session, the next connection sends it.
        guard isConnected, asked == generation, number == push.number,
            ![.unauthorized, .signedOut, .tokenUnavailable].contains(error.code)
        else { return }
        push.failures += 1
        let delay = max(error.delay, min(PushRegistration.longestDelay, .seconds(1 << min(push.failures, 10))))
        tasks.start { [weak self, clock] in
            guard (try? await clock.sleep(for: delay)) != nil else { return }
            await self?.retryDevice(asked, number)
        }
    }

    private func retryDevice(_ asked: Int, _ number: Int) {
        if asked == generation, number == push.number { _ = telling() }
    }
}

extension HTTPServer.Request {
    fileprivate init(_ wish: PushRegistration.Wish) {
        let path = "v1/me/devices/current"
        switch wish {
        case .pushes(let device):
            self.init("PUT", path, isRepeatable: true)
            // Cannot fail: a dictionary of strings.
            body = try! JSONEncoder().encode(["pushToken": device.token, "platform": device.platform.rawValue])
        case .noPushes: self.init("DELETE", path, isRepeatable: true)
        }
        timeout = .seconds(15)
    }
}

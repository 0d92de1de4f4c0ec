import Foundation
import PresenceHTTP
import PresenceKit

/// What the app wants of pushes to this device, and what the server has of it.
struct PushRegistration {
    /// Whether and where this device is to be pushed to; `nil` until the app says.
    var wish: Wish?
    /// Grows with each wish.
    var number = 0
    /// Whether the wish has to be told, whatever was told before.
    var isDue = false
    /// What was registered, when the client's token was this one; with another one if that was refused.
    var told: (device: PushDevice, token: String, taken: String)?
    /// The last request: the next one waits for it.
    var last: Task<Bool, any Error>?
    /// The next try, and how many have failed in a row.
    var retry: Task<Void, Never>?
    var failures = 0

    enum Wish: Hashable {
        case pushes(PushDevice)
        case noPushes
    }

    /// The longest time between two tries.
    static let longestDelay = Duration.seconds(300)
}

// Where this device is pushed to, while its user is away.
extension PresenceMessages {
    /// Lets this device be pushed to when messages come for its user and they are away. Call it at each launch, and whenever
    /// the push service gives another token; the newest call counts.
    ///
    /// What cannot be told now is told later, as long as the process lives: while the server is out of reach, too busy, or
    /// the user not signed in, with the next connection, and on a connection again after a growing pause of at most 5
    /// minutes. It is told anew when the session is another one: another user, or a token that took the place of the former.
    ///
    /// The device belongs to the session of the user's token, and goes with it. With tokens of the app's own it belongs to
    /// the user, who has one: call ``removeDevice()`` before the sign-out. Otherwise the library tries to remove it with the
    /// former token, once, when the client signs out or changes its user.
    ///
    /// - Returns: whether the server has it; `false` if it is told later.
    /// - Throws: `validationFailed` with `field`, `forbidden`, `notOffered`: what the server refused it with. It is not told
    ///   again then.
    @discardableResult
    public func registerDevice(_ device: PushDevice) async throws -> Bool {
        try device.check()
        return try await want(.pushes(device))
    }

    /// Lets this device be pushed to no more: the user does not want it, or is about to sign out. What cannot be told now is
    /// told later, as with ``registerDevice(_:)``, as long as the user is the same, and once: with tokens of the app's own,
    /// another device of the user may be registered afterwards.
    ///
    /// - Returns: whether the server knows; `false` if it is told later.
    /// - Throws: as ``registerDevice(_:)``.
    @discardableResult
    public func removeDevice() async throws -> Bool { try await want(.noPushes) }

    private func want(_ wish: PushRegistration.Wish) async throws -> Bool {
        push.wish = wish
        push.number += 1
        (push.isDue, push.failures) = (true, 0)
        return try await telling().value
    }

    /// There is a connection: its session may be another one than that which was told.
    func recallDevice() {
        guard push.wish != nil else { return }
        push.failures = 0
        _ = telling()
    }

    /// The user is gone. What is registered for them here is removed, if their token is still good for that; the next user
    /// of this client gets the pushes.
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

    /// Tells the server what is wanted, after what it is being told.
    private func telling() -> Task<Bool, any Error> {
        let telling = Task { [former = push.last] in
            _ = await former?.result
            return try await tellDevice()
        }
        push.last = telling
        return telling
    }

    private func tellDevice() async throws -> Bool {
        guard let wish = push.wish else { return true }
        let (asked, number) = (generation, push.number)
        do {
            let user = try await ownUser()
            let token = try await client.token(of: user)
            if !push.isDue, let told = push.told, wish == .pushes(told.device), told.token == token { return true }
            let taken = try await server.send(HTTPServer.Request(wish), of: client, as: user, with: token).token
            guard own == user else {
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
        } catch let error as PresenceError where error.isPassing {
            tellAgain(after: error, asked, number)
            return false
        } catch {
            if number == push.number { push.wish = nil }
            throw error
        }
    }

    private func tellAgain(after error: PresenceError, _ asked: Int, _ number: Int) {
        // Without a connection, or a session, the next connection brings it.
        guard isConnected, asked == generation, number == push.number,
            ![.unauthorized, .signedOut, .tokenUnavailable].contains(error.code)
        else { return }
        push.failures += 1
        let delay = max(error.delay, min(PushRegistration.longestDelay, .seconds(1 << min(push.failures, 10))))
        push.retry?.cancel()
        push.retry = Task { [weak self, clock] in
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
            // Two strings can always be encoded.
            body = try! JSONEncoder().encode(["pushToken": device.token, "platform": device.platform.rawValue])
        case .noPushes: self.init("DELETE", path, isRepeatable: true)
        }
        timeout = .seconds(15)
    }
}

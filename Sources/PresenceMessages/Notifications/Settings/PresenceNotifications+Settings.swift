import Foundation
import PresenceKit

/// The settings as the server has them, and a change that it has not accepted.
struct HeldSettings: Sendable {
    /// As last received.
    var stored: NotificationSettings?
    /// The newest change without an answer. An older one is not sent any more: each is whole.
    var waiting: Kept<NotificationSettings>?
    var loops = Loops<NotificationSettings>()
    /// Whether the app wants to know them.
    var isWanted = false
    /// The last request; the next one waits for it.
    var last: Task<Bool, any Error>?
    var faults = 0

    /// The settings as the app sees them.
    var shown: NotificationSettings? { waiting?.body ?? stored }

    mutating func publish() {
        if let shown { loops.publish(shown) }
    }

    /// Answers and events may overtake each other; the larger version is the newer one.
    mutating func take(_ settings: NotificationSettings) {
        guard settings.version >= stored?.version ?? 0 else { return }
        stored = settings
        publish()
    }
}

extension NotificationSettings: Keepable {
    static var kind: String { "notificationSettings" }
}

// The settings of notifications, on a server that has them.
extension PresenceNotifications {
    /// Observes the user's settings, with changes of all devices: a first element as soon as they are known, then one
    /// after each change. A change without a connection is shown at once.
    public nonisolated var settings: PresenceUpdates<NotificationSettings> {
        PresenceUpdates(
            loops(
                add: { notifications, id, loop in
                    notifications.choices.loops.add(id, loop, notifications.choices.shown)
                    notifications.client.beginConnecting()
                    notifications.choices.isWanted = true
                    notifications.readSettings()
                }, remove: { $0.choices.loops.remove($1) }))
    }

    /// Returns the kinds of notifications that the server has; `nil` if it has no settings.
    ///
    /// - Throws: `notConnected`, `connectionLost`.
    public func offer() async throws -> NotificationSettings.Offer? {
        struct Server: Decodable { var notificationSettings: NotificationSettings.Offer? }
        return try await client.send(.init("GET", "v1/server", isRepeatable: true), as: Server.self)
            .notificationSettings
    }

    /// Replaces the user's settings, on all devices.
    ///
    /// Without a connection the change is queued and sent on the next connection; only the newest counts, also against a
    /// change that another device makes meanwhile. With a `Storage` on disk it survives the process.
    ///
    /// - Returns: whether the server has them; `false` if they are queued.
    /// - Throws: `validationFailed` with `field`, such as `quiet.timezone`; `notOffered` if the server has no settings.
    ///   The change is dropped then. `storageFailed` if it cannot be queued; `notConnected` if the user is unknown because
    ///   there never was a connection; `signedOut` if the user changed meanwhile.
    @discardableResult
    public func setSettings(_ settings: NotificationSettings) async throws -> Bool {
        try settings.check()
        let entry = Kept(owner: try await ownUser(), settings)
        try await store("settings", entry.write)
        guard own == entry.owner else {
            try? await client.removeWrites([entry.id])
            throw PresenceError.signedOut
        }
        let former = choices.waiting.flatMap { $0.owner == entry.owner ? $0 : nil }
        choices.waiting = entry
        choices.publish()
        if let former { try? await client.removeWrites([former.id]) }
        return try await sendingSettings().value
    }

    // MARK: Requests

    /// A change of an earlier process; only the newest counts.
    func restoreSettings(_ writes: [QueuedWrite]) async {
        let changes = writes.compactMap(Kept<NotificationSettings>.init).filter { own == nil || $0.owner == own }
        choices.waiting = changes.last
        // A process that died between two changes has left both.
        if changes.count > 1 { try? await client.removeWrites(changes.dropLast().map(\.id)) }
    }

    /// There is a new connection: changes that were made meanwhile are not sent as events.
    func recallSettings() {
        choices.faults = 0
        if let waiting = choices.waiting, waiting.owner != own { choices.waiting = nil }
        if choices.waiting != nil { _ = sendingSettings() }
        readSettings()
    }

    /// An event, or an answer.
    func hear(settings data: Data) {
        struct Event: Decodable { var settings: NotificationSettings }
        if let event = try? JSONDecoder().decode(Event.self, from: data) { choices.take(event.settings) }
    }

    func forgetSettings() {
        choices.waiting = nil
        if choices.stored != nil {
            choices.stored = NotificationSettings()
            choices.publish()
        }
        choices.stored = nil
    }

    private func readSettings() {
        guard isConnected, choices.isWanted else { return }
        run { notifications in
            var faults = 0
            while true {
                let asked = notifications.generation
                do {
                    let request = HTTPServer.Request("GET", HTTPServer.Request.settings, isRepeatable: true)
                    let settings = try await notifications.client.send(
                        request, of: notifications.userNumber, as: NotificationSettings.self)
                    if asked == notifications.generation { notifications.choices.take(settings) }
                    return
                } catch let error as PresenceError {
                    guard await notifications.mayRetry(after: error, asked, faults: &faults) else { return }
                } catch {
                    return
                }
            }
        }
    }

    /// Sends the newest change, once the last request has ended.
    private func sendingSettings() -> Task<Bool, any Error> {
        let sending = next(after: choices.last) { try await $0.sendSettings() }
        choices.last = sending
        return sending
    }

    private func sendSettings() async throws -> Bool {
        guard let entry = choices.waiting, entry.owner == own else { return true }
        guard isConnected else {
            client.beginConnecting()
            return false
        }
        let asked = generation
        do {
            let request = HTTPServer.Request(
                "PUT", HTTPServer.Request.settings, json: entry.body, isRepeatable: true)
            let stored = try await client.send(request, of: userNumber, as: NotificationSettings.self)
            guard asked == generation || own == entry.owner else { throw PresenceError.signedOut }
            choices.faults = 0
            await settled(entry)
            choices.take(stored)
            return true
        } catch let error as PresenceError where error.isPassing && !tasks.isClosed {
            sendSettingsAgain(after: error, asked)
            return false
        } catch let error as PresenceError {
            await settled(entry)
            choices.publish()
            throw error
        }
    }

    /// The change needs not be sent any more.
    private func settled(_ entry: Kept<NotificationSettings>) async {
        if choices.waiting?.id == entry.id { choices.waiting = nil }
        // A write that cannot be removed is sent again after a launch.
        try? await client.removeWrites([entry.id])
    }

    private func sendSettingsAgain(after error: PresenceError, _ asked: Int) {
        guard isConnected, asked == generation, error.code != .signedOut else { return }
        choices.faults += 1
        tasks.start { [weak self, clock, delay = error.delay(after: choices.faults)] in
            guard (try? await clock.sleep(for: delay)) != nil else { return }
            await self?.retrySettings(asked)
        }
    }

    private func retrySettings(_ asked: Int) {
        if asked == generation, choices.waiting != nil { _ = sendingSettings() }
    }
}

extension HTTPServer.Request {
    fileprivate static let settings = "v1/me/notificationSettings"
}

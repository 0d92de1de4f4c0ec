import Foundation
import PresenceKit

/// The settings as the server has them.
struct HeldSettings: Sendable {
    /// As last received.
    var stored: NotificationSettings?
    var loops = Loops<NotificationSettings>()
    /// Whether the app wants to know them.
    var isWanted = false
    /// Answers and events may overtake each other; the larger version is the newer one.
    mutating func take(_ settings: NotificationSettings) {
        guard settings.version >= stored?.version ?? 0 else { return }
        stored = settings
    }
}

// The settings of notifications, on a server that has them.
extension PresenceNotifications {
    /// Observes the user's settings, with changes of all devices: a first element as soon as they are known, then one
    /// after each change. A change without a connection is shown at once.
    public nonisolated var settings: PresenceUpdates<NotificationSettings> {
        PresenceUpdates(
            loops(
                add: { notifications, id, loop in
                    notifications.choices.loops.add(id, loop, notifications.shownSettings)
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

    /// Replaces the user's settings, on all devices. If its task is cancelled, it throws `CancellationError` at once, and the
    /// change is made nevertheless.
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
        let id = try await keep(.settings(settings), of: try await ownUser())
        publishSettings()
        switch await outcome(of: id, in: Outbox.settings) {
        case .made: return true
        case .waits: return false
        case .cancelled: throw CancellationError()
        case .refused(let error): throw error
        }
    }

    // MARK: Requests

    /// The settings as the app sees them.
    private var shownSettings: NotificationSettings? { outbox.settings ?? choices.stored }

    func publishSettings() {
        if let shownSettings { choices.loops.publish(shownSettings) }
    }

    private func take(_ settings: NotificationSettings) {
        choices.take(settings)
        publishSettings()
    }

    /// An event, or an answer.
    func hear(settings data: Data) {
        struct Event: Decodable { var settings: NotificationSettings }
        if let event = try? JSONDecoder().decode(Event.self, from: data) { take(event.settings) }
    }

    func forgetSettings() {
        if choices.stored != nil { choices.loops.publish(NotificationSettings()) }
        choices.stored = nil
    }

    /// Changes that were made without a connection are not sent as events.
    func readSettings() {
        guard isConnected, choices.isWanted else { return }
        run { notifications in
            var faults = 0
            while true {
                let asked = notifications.generation
                do {
                    let request = HTTPServer.Request("GET", HTTPServer.Request.settings, isRepeatable: true)
                    let settings = try await notifications.client.send(
                        request, of: notifications.userNumber, as: NotificationSettings.self)
                    if asked == notifications.generation { notifications.take(settings) }
                    return
                } catch let error as PresenceError {
                    guard await notifications.mayRetry(after: error, asked, faults: &faults) else { return }
                } catch {
                    return
                }
            }
        }
    }

    /// Replaces the server's settings.
    func send(_ settings: NotificationSettings) async throws(PresenceError) {
        let user = userNumber
        do {
            let request = HTTPServer.Request("PUT", HTTPServer.Request.settings, json: settings, isRepeatable: true)
            let stored = try await client.send(request, of: user, as: NotificationSettings.self)
            guard user == userNumber else { throw PresenceError.signedOut }
            choices.take(stored)
        } catch let error as PresenceError {
            // The connection that this library follows may still be there.
            let isAway = [.connectionLost, .notConnected].contains(error.code) && !tasks.isClosed
            throw isAway ? PresenceError(.unavailable, error.message) : error
        } catch {
            throw PresenceError(.cancelled, "the request was cancelled")
        }
    }
}

extension HTTPServer.Request {
    fileprivate static let settings = "v1/me/notificationSettings"
}

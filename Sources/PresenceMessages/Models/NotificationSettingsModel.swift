import Foundation
import Observation
import PresenceKit

extension NotificationSettings {
    /// The settings of notifications on a screen. Each change is sent when it is made.
    ///
    /// ```swift
    /// List(model.kinds) { kind in Text("\(kind.name): \(model.channels(of: kind).push ? "pushed" : "in the list")") }
    ///     .task { await model.run() }
    /// ```
    @MainActor @Observable
    public final class Model {
        /// The settings, with changes that are queued; the defaults until they are known.
        public private(set) var settings = NotificationSettings()
        /// The kinds of notifications that the server has.
        public private(set) var kinds: [Offer.Kind] = []
        /// Whether quiet hours can be set.
        public private(set) var offersQuietHours = false
        /// Whether the settings are known.
        public private(set) var isLoaded = false
        /// Whether the server has no settings.
        public private(set) var isMissing = false
        /// Whether the last change waits for a connection.
        public private(set) var isQueued = false
        /// Whether a change is being sent.
        public var isSaving: Bool { saving > 0 }
        /// Why the last change failed, as a text for users. The settings are then as before.
        public private(set) var errorMessage: String?

        private let notifications: PresenceNotifications
        private var saving = 0

        /// Creates a model; it has the defaults until ``run()``.
        public init(_ notifications: PresenceNotifications) { self.notifications = notifications }

        /// Observes the settings until its task is cancelled.
        public func run() async {
            async let offer: Void = readOffer()
            for await settings in notifications.settings {
                if settings.version > self.settings.version { isQueued = false }
                self.settings = settings
                isLoaded = true
            }
            await offer
        }

        private func readOffer() async {
            for await state in notifications.client.connectionStates where state.isConnected {
                do {
                    let offer = try await notifications.offer()
                    kinds = offer?.kinds ?? []
                    offersQuietHours = offer?.quietHours ?? false
                    isMissing = offer == nil
                    return
                } catch {
                    // With the next connection, if this one breaks.
                }
            }
        }

        // MARK: Changes

        /// The channels of a kind.
        public func channels(of kind: Offer.Kind) -> Channels { settings.channels(of: kind.kind) }

        /// Sets how notifications of a kind reach the user.
        public func set(_ channels: Channels, of kind: Offer.Kind) async {
            await change { $0.kinds[kind.kind] = channels }
        }

        /// Sets or ends the quiet hours.
        public func setQuietHours(_ quiet: QuietHours?) async { await change { $0.quiet = quiet } }

        /// Makes any change. Without a connection it is queued (``isQueued``).
        public func change(_ body: (inout NotificationSettings) -> Void) async {
            var changed = settings
            body(&changed)
            guard changed != settings else { return }
            let former = settings
            settings = changed
            saving += 1
            errorMessage = nil
            defer { saving -= 1 }
            do {
                isQueued = try await !notifications.setSettings(changed)
            } catch is CancellationError {
                if settings == changed { settings = former }
            } catch {
                if settings == changed { settings = former }
                errorMessage = error.localizedDescription
            }
        }
    }
}

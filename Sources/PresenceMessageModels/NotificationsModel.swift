import Foundation
import Observation
import PresenceKit
import PresenceMessages

/// The user's notifications on a screen, and the number for a badge.
///
/// ```swift
/// List(model.notifications) { NotificationRow($0) }
///     .badge(model.unseenCount)
///     .task { await model.run() }
/// ```
@MainActor @Observable
public final class NotificationsModel {
    /// Newest first.
    public private(set) var notifications: [UserNotification] = []
    /// How many were not seen: the number for a badge.
    public private(set) var unseenCount = 0
    /// How many were not read.
    public private(set) var unreadCount = 0
    /// Whether ``loadEarlier(limit:)`` may add notifications.
    public private(set) var hasEarlier = false
    /// Whether an earlier page is under way.
    public private(set) var isLoadingEarlier = false
    /// Whether the list is known: an empty one before that is one that is still to come.
    public private(set) var isLoaded = false
    /// The newest one that came while the model ran and is not seen yet: for a banner. ``dismissArrival()`` takes it away.
    public private(set) var arrival: UserNotification?
    /// Why the last thing that was asked for was not done, for people.
    public private(set) var errorMessage: String?

    /// Whether the user looks at the list: what is shown then counts as seen.
    public var isVisible = false {
        didSet {
            guard isVisible, !oldValue else { return }
            lastTried = nil
            Task { await markSeen() }
        }
    }

    private let repository: any NotificationRepository
    /// The newest notification when the list was last marked as seen. A mark that fails shows the list as it was before, so
    /// it is tried once for each newest notification, and again when the list appears.
    private var lastTried: Int64?

    /// Makes a model that shows nothing before ``run()``.
    public init(_ notifications: any NotificationRepository) {
        repository = notifications
    }

    /// Follows the notifications until its task is cancelled.
    public func run() async {
        // What a loop begins with, and what another user has, did not come while the user looked.
        var former: NotificationInbox?
        for await inbox in repository.inbox {
            let isOthers = former.map { $0.user != inbox.user } ?? false
            if isOthers { arrival = nil }
            if isOthers || inbox.notifications.isEmpty { lastTried = nil }
            notifications = inbox.notifications
            (unseenCount, unreadCount) = (inbox.unseenCount, inbox.unreadCount)
            hasEarlier = inbox.hasEarlier
            if former != nil, !isOthers, let newest = newArrival(inbox) { arrival = newest }
            former = inbox
            if let arrival, inbox[arrival.id]?.isSeen != false { self.arrival = nil }
            isLoaded = true
            if isVisible { await markSeen() }
        }
    }

    /// An older page is no arrival.
    private func newArrival(_ inbox: NotificationInbox) -> UserNotification? {
        guard let newest = inbox.notifications.first, inbox.changes.added.contains(newest.id), !newest.isSeen else {
            return nil
        }
        return newest
    }

    private func markSeen() async {
        guard notifications.contains(where: { !$0.isSeen }), notifications.first?.sequence != lastTried else { return }
        lastTried = notifications.first?.sequence
        await attempt { try await self.repository.markSeen(upTo: self.notifications.first) }
    }

    // MARK: What the user does

    /// Takes the banner away.
    public func dismissArrival() { arrival = nil }

    /// The user has opened one.
    public func open(_ notification: UserNotification) async {
        if arrival?.id == notification.id { arrival = nil }
        await attempt { try await self.repository.markRead([notification]) }
    }

    /// Notes that all that are shown were read.
    public func markAllRead() async {
        let unread = notifications.filter { !$0.isRead }
        guard !unread.isEmpty else { return }
        await attempt { try await self.repository.markRead(unread) }
    }

    /// Puts one away.
    public func archive(_ notification: UserNotification) async {
        await attempt { try await self.repository.archive([notification]) }
    }

    /// Adds the page before the oldest one, unless that is under way.
    public func loadEarlier(limit: Int = 50) async {
        guard hasEarlier, !isLoadingEarlier else { return }
        isLoadingEarlier = true
        defer { isLoadingEarlier = false }
        await attempt { self.hasEarlier = try await self.repository.loadEarlier(limit: limit) }
    }

    private func attempt(_ body: () async throws -> Void) async {
        errorMessage = nil
        do {
            try await body()
        } catch is CancellationError {
        } catch {
            errorMessage = error.localizedDescription
        }
    }
}

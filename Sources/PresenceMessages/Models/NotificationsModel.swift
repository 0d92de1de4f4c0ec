import Foundation
import Observation
import PresenceKit

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
    /// The number of unseen notifications, for a badge.
    public private(set) var unseenCount = 0
    /// The number of unread notifications.
    public private(set) var unreadCount = 0
    /// Whether ``loadEarlier(limit:)`` may add notifications.
    public private(set) var hasEarlier = false
    /// Whether an earlier page is being loaded.
    public private(set) var isLoadingEarlier = false
    /// Whether the list is known. An empty list before that is not yet loaded.
    public private(set) var isLoaded = false
    /// The newest unseen notification that arrived while the model ran, for a banner. ``dismissArrival()`` removes it.
    public private(set) var arrival: UserNotification?
    /// Why the last operation failed, as a text for users.
    public private(set) var errorMessage: String?

    /// Whether the list is visible: shown notifications then count as seen.
    public var isVisible = false {
        didSet {
            guard isVisible, !oldValue else { return }
            lastTried = nil
            Task { await markSeen() }
        }
    }

    private let repository: any NotificationRepository
    /// The newest notification at the last attempt to mark the list as seen. A failed mark restores the list, so it is
    /// tried once for each newest notification, and again when the list appears.
    private var lastTried: Int64?

    /// Creates a model; it is empty until ``run()``.
    public init(_ notifications: any NotificationRepository) {
        repository = notifications
    }

    /// Observes the notifications until its task is cancelled.
    public func run() async {
        // The first element, and another user's notifications, did not arrive while the model ran.
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

    /// Notifications of an older page do not count as arrivals.
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

    // MARK: Actions

    /// Removes the banner.
    public func dismissArrival() { arrival = nil }

    /// Marks a notification as read, because the user has opened it.
    public func open(_ notification: UserNotification) async {
        if arrival?.id == notification.id { arrival = nil }
        await attempt { try await self.repository.markRead([notification]) }
    }

    /// Marks all shown notifications as read.
    public func markAllRead() async {
        let unread = notifications.filter { !$0.isRead }
        guard !unread.isEmpty else { return }
        await attempt { try await self.repository.markRead(unread) }
    }

    /// Archives a notification.
    public func archive(_ notification: UserNotification) async {
        await attempt { try await self.repository.archive([notification]) }
    }

    /// Loads the page before the oldest notification, unless one is being loaded.
    public func loadEarlier(limit: Int = 50) async {
        guard hasEarlier, !isLoadingEarlier else { return }
        isLoadingEarlier = true
        defer { isLoadingEarlier = false }
        await attempt { self.hasEarlier = try await self.repository.loadEarlier(limit: limit) }
    }

    private func attempt(_ body: @MainActor () async throws -> Void) async {
        errorMessage = nil
        if let fault = await failure(of: body) { errorMessage = fault }
    }
}

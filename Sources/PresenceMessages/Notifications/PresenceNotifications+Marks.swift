import Foundation
import PresenceKit

// Marking notifications as seen, read and archived.
extension PresenceNotifications {
    /// Marks notifications as seen, up to one or up to the newest shown. Without a connection the mark is queued, like
    /// the other marks.
    ///
    /// Returns when the mark is stored, and waits for the disk only. Marks that the server rejects are dropped.
    ///
    /// - Throws: `storageFailed` if the mark cannot be stored, also because of the limit of the
    ///   ``PresenceKit/Storage``; `notConnected` if the user is unknown because there never was a connection;
    ///   `signedOut` if the user changed meanwhile.
    public func markSeen(upTo notification: UserNotification? = nil) async throws {
        let last = notification?.sequence ?? shown.notifications.first?.sequence ?? 0
        guard last > 0, !held.isSeen(upTo: last) else { return }
        guard last > (try await ownWaiting().compactMap(\.seen).max() ?? 0) else { return }
        try await mark(Ask.NotificationMarks(seen: last))
    }

    /// Marks notifications as read, including ones that ``inbox`` does not currently show. More than 1,000 are marked
    /// in several steps; if one fails, the later ones are not made.
    ///
    /// - Throws: as ``markSeen(upTo:)``.
    public func markRead(_ notifications: [UserNotification]) async throws {
        let unread = notifications.map(\.sequence).filter { !held.isRead($0) }
        guard !unread.isEmpty else { return }
        let wanted = Set(try await ownWaiting().flatMap { ($0.read ?? []) + ($0.archived ?? []) })
        try await mark(unread.filter { !wanted.contains($0) }) { Ask.NotificationMarks(read: $0) }
    }

    /// Archives notifications: they are no longer shown on any device, and their text is deleted. It may include ones
    /// that ``inbox`` does not currently show. More than 1,000 are handled as in ``markRead(_:)``.
    ///
    /// - Throws: as ``markSeen(upTo:)``.
    public func archive(_ notifications: [UserNotification]) async throws {
        let shown = notifications.map(\.sequence).filter { !held.isGone($0) }
        guard !shown.isEmpty else { return }
        let wanted = Set(try await ownWaiting().flatMap { $0.archived ?? [] })
        try await mark(shown.filter { !wanted.contains($0) }) { Ask.NotificationMarks(archived: $0) }
    }

    /// The pending marks of the signed-in user. Until there is a connection, there may be marks of a former user.
    private func ownWaiting() async throws -> [Ask.NotificationMarks] {
        _ = try await ownUser()
        return outbox.works.compactMap(\.notificationMarks)
    }

    private func mark(_ numbers: [Int64], _ marks: ([Int64]) -> Ask.NotificationMarks) async throws {
        var rest = numbers[...]
        while !rest.isEmpty {
            try await mark(marks(Array(rest.prefix(Ask.NotificationMarks.most))))
            rest = rest.dropFirst(Ask.NotificationMarks.most)
        }
    }

    /// Known marks are not made again, so there are never more pending marks than notifications.
    private func mark(_ marks: Ask.NotificationMarks) async throws {
        try await keep(.notifications(marks), of: try await ownUser())
        pump(Outbox.notifications)
    }

    func show(_ work: Outbox.Work) {
        if case .settings = work { publishSettings() } else { publish() }
    }

    func make(_ work: Outbox.Work) async throws(PresenceError) -> Wire.Message? {
        let asked = generation
        if let settings = work.settings { try await send(settings) }
        guard let marks = work.notificationMarks else { return nil }
        let counts = try await ask("markNotifications", marks, Wire.Notified.self)
        // Sent again on the new connection.
        guard asked == generation else { throw PresenceError(.connectionLost, "the counts are of a former connection") }
        held.marked(marks, counts)
        return nil
    }
}

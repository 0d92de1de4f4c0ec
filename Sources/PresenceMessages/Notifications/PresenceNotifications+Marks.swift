import Foundation
import PresenceKit

/// Pending marks.
typealias WaitingMarks = Kept<Ask.NotificationMarks>

extension Ask.NotificationMarks: Keepable {
    static var kind: String { "notificationMarks" }
}

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
        guard last > (try await ownWaiting().compactMap(\.body.seen).max() ?? 0) else { return }
        try await mark(Ask.NotificationMarks(seen: last))
    }

    /// Marks notifications as read, including ones that ``inbox`` does not currently show. More than 1,000 are marked
    /// in several steps; if one fails, the later ones are not made.
    ///
    /// - Throws: as ``markSeen(upTo:)``.
    public func markRead(_ notifications: [UserNotification]) async throws {
        let unread = notifications.map(\.sequence).filter { !held.isRead($0) }
        guard !unread.isEmpty else { return }
        let wanted = Set(try await ownWaiting().flatMap { ($0.body.read ?? []) + ($0.body.archived ?? []) })
        try await mark(unread.filter { !wanted.contains($0) }) { Ask.NotificationMarks(read: $0) }
    }

    /// Archives notifications: they are no longer shown on any device, and their text is deleted. It may include ones
    /// that ``inbox`` does not currently show. More than 1,000 are handled as in ``markRead(_:)``.
    ///
    /// - Throws: as ``markSeen(upTo:)``.
    public func archive(_ notifications: [UserNotification]) async throws {
        let shown = notifications.map(\.sequence).filter { !held.isGone($0) }
        guard !shown.isEmpty else { return }
        let wanted = Set(try await ownWaiting().flatMap { $0.body.archived ?? [] })
        try await mark(shown.filter { !wanted.contains($0) }) { Ask.NotificationMarks(archived: $0) }
    }

    /// The pending marks of the signed-in user. Until there is a connection, there may be marks of a former user.
    private func ownWaiting() async throws -> [WaitingMarks] {
        let owner = try await ownUser()
        return waiting.filter { $0.owner == owner }
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
        let entry = WaitingMarks(owner: try await ownUser(), marks)
        waiting.append(entry)
        publish()
        do {
            try await store("a mark", entry.write)
        } catch {
            waiting.removeAll { $0.id == entry.id }
            publish()
            throw error
        }
        guard let place = waiting.firstIndex(where: { $0.id == entry.id }) else {
            try? await client.removeWrites([entry.id])
            throw PresenceError.signedOut
        }
        waiting[place].isStored = true
        pump()
    }

    /// Sends pending marks, unless that is in progress.
    func pump() {
        guard waiting.first?.isStored == true else { return }
        guard isConnected else { return client.beginConnecting() }
        guard !isMarking else { return }
        isMarking = true
        run { notifications in
            var faults = 0
            while notifications.isConnected, let batch = notifications.batch(),
                await notifications.send(batch, faults: &faults)
            {}
            notifications.isMarking = false
        }
    }

    /// The marks that fit into one request.
    private func batch() -> [WaitingMarks]? {
        var (batch, count) = ([WaitingMarks](), 0)
        for entry in waiting {
            count += entry.body.count
            guard entry.isStored, count <= Ask.NotificationMarks.most else { break }
            batch.append(entry)
        }
        return batch.isEmpty ? nil : batch
    }

    /// Errors after which the marks are dropped: the server will never accept them, or has no notifications.
    private static let refusals: Set<PresenceError.Code> = [.unknownType, .validationFailed, .badRequest, .tooMany]

    /// - Returns: whether to continue now; if not, sending resumes with the next mark or connection.
    private func send(_ batch: [WaitingMarks], faults: inout Int) async -> Bool {
        let asked = generation
        let ids = batch.map(\.id)
        let marks = batch.reduce(into: Ask.NotificationMarks()) { $0.add($1.body) }
        do throws(PresenceError) {
            let counts = try await ask("markNotifications", marks, Wire.Notified.self)
            faults = 0
            // Sent again on the new connection.
            guard asked == generation else { return true }
            held.marked(marks, counts)
        } catch {
            guard !error.isPassing, Self.refusals.contains(error.code), asked == generation else {
                // Sent again regardless of the outcome: repeating a mark has no effect.
                let mayRetry = await mayRetry(after: error, asked, faults: &faults)
                return mayRetry || asked != generation
            }
        }
        waiting.removeAll { ids.contains($0.id) }
        publish()
        // Marks that cannot be removed are sent again after a launch.
        try? await client.removeWrites(ids)
        return true
    }
}

import Foundation
import PresenceKit

/// Marks that were promised to be made.
struct WaitingMarks: Sendable {
    static let kind = "notificationMarks"
    let id: String
    let owner: String
    let marks: Ask.NotificationMarks
    /// Whether they are in the storage: not told before.
    var isStored: Bool

    init(owner: String, marks: Ask.NotificationMarks) {
        (id, self.owner, self.marks, isStored) = (UUID().uuidString, owner, marks, false)
    }

    /// `nil` for what a later version wrote.
    init?(_ write: QueuedWrite) {
        guard let owner = write.owner,
            let marks = try? JSONDecoder().decode(Ask.NotificationMarks.self, from: write.body)
        else { return nil }
        (id, self.owner, self.marks, isStored) = (write.id, owner, marks, true)
    }

    func write(at date: Date) throws -> QueuedWrite {
        QueuedWrite(
            id: id, owner: owner, lane: "notifications", kind: Self.kind, body: try JSONEncoder().encode(marks),
            queuedAt: date)
    }
}

// What the user has seen, read and archived.
extension PresenceNotifications {
    /// Notes that the user has seen notifications, up to one or up to the newest that is shown. Without a connection the
    /// mark waits for one, like the others here.
    ///
    /// - Throws: `storageFailed` if it cannot be kept; `notConnected` if the own user is not known, because there never was
    ///   a connection.
    public func markSeen(upTo notification: UserNotification? = nil) async throws {
        let list = shown.notifications
        let last = notification?.sequence ?? list.first?.sequence ?? 0
        guard list.contains(where: { !$0.isSeen && $0.sequence <= last }) else { return }
        try await mark(Ask.NotificationMarks(seen: last))
    }

    /// Notes that the user has read notifications.
    public func markRead(_ notifications: [UserNotification]) async throws {
        let unread = Set(shown.notifications.filter { !$0.isRead }.map(\.sequence))
        try await mark(notifications.map(\.sequence).filter(unread.contains)) { Ask.NotificationMarks(read: $0) }
    }

    /// Puts notifications away: they are not shown any more, on any device, and their text is deleted.
    public func archive(_ notifications: [UserNotification]) async throws {
        let held = Set(shown.notifications.map(\.sequence))
        try await mark(notifications.map(\.sequence).filter(held.contains)) { Ask.NotificationMarks(archived: $0) }
    }

    private func mark(_ numbers: [Int64], _ marks: ([Int64]) -> Ask.NotificationMarks) async throws {
        var rest = numbers[...]
        while !rest.isEmpty {
            try await mark(marks(Array(rest.prefix(Ask.NotificationMarks.most))))
            rest = rest.dropFirst(Ask.NotificationMarks.most)
        }
    }

    /// What is marked already is not marked again, so no more wait than there are notifications.
    private func mark(_ marks: Ask.NotificationMarks) async throws {
        await restored()
        guard let owner = own else {
            throw PresenceError(.notConnected, "the own user is not known before the first connection")
        }
        let entry = WaitingMarks(owner: owner, marks: marks)
        waiting.append(entry)
        publish()
        do {
            try await client.keep(try entry.write(at: Date()))
        } catch {
            waiting.removeAll { $0.id == entry.id }
            publish()
            throw PresenceError(.storageFailed, "a mark cannot be kept: \(error)")
        }
        guard let place = waiting.firstIndex(where: { $0.id == entry.id }) else {
            try? await client.removeWrites([entry.id])
            throw PresenceError(.signedOut, "the user signed out or was changed")
        }
        waiting[place].isStored = true
        pump()
    }

    /// Tells what waits, unless that is under way.
    func pump() {
        guard isConnected, waiting.first?.isStored == true, !isMarking else { return }
        isMarking = true
        Task {
            while self.isConnected, let batch = self.batch() { await self.tell(batch) }
            self.isMarking = false
        }
    }

    /// As many as go into one request.
    private func batch() -> [WaitingMarks]? {
        var (batch, count) = ([WaitingMarks](), 0)
        for entry in waiting {
            count += entry.marks.count
            guard entry.isStored, count <= Ask.NotificationMarks.most else { break }
            batch.append(entry)
        }
        return batch.isEmpty ? nil : batch
    }

    private func tell(_ batch: [WaitingMarks]) async {
        let asked = generation
        let ids = batch.map(\.id)
        let marks = batch.reduce(into: Ask.NotificationMarks()) { $0.add($1.marks) }
        do throws(PresenceError) {
            let counts = try await client.ask("markNotifications", marks, Wire.Notified.self)
            guard asked == generation else { return }
            held.marked(marks, counts)
        } catch {
            guard !error.isPassing, asked == generation else {
                // Told again whatever became of it: a mark that is made twice is made once.
                _ = await mayRetry(after: error, asked)
                return
            }
            // The server has no notifications: nothing to mark.
        }
        waiting.removeAll { ids.contains($0.id) }
        publish()
        // If they cannot be removed, they are told again after a launch.
        try? await client.removeWrites(ids)
    }
}

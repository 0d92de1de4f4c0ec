import Foundation
import PresenceKit

/// The user's mark in a conversation (up to where it is read or delivered), in the client's storage until the server
/// has it. For each conversation and kind of mark only the furthest mark is kept.
struct KeptMark: Sendable {
    static let kind = "conversationMark"
    let id: String
    let owner: String
    let mark: Ask.Mark
    /// Whether the mark is stored; before that it replaces no other mark.
    var isStored: Bool

    init(owner: String, mark: Ask.Mark) {
        (id, self.owner, self.mark, isStored) = (UUID().uuidString, owner, mark, false)
    }

    /// `nil` for a write that this version of the library cannot read.
    init?(_ write: QueuedWrite) {
        guard let owner = write.owner, let mark = try? JSONDecoder().decode(Ask.Mark.self, from: write.body) else {
            return nil
        }
        (id, self.owner, self.mark, isStored) = (write.id, owner, mark, true)
    }

    func write(at date: Date) throws -> QueuedWrite {
        QueuedWrite(
            id: id, owner: owner, lane: mark.conversation, kind: Self.kind, body: try JSONEncoder().encode(mark),
            queuedAt: date, mayGetLost: true)
    }
}

extension Ask.Mark {
    /// Whether it includes another mark of the same conversation. A read message is also delivered.
    func covers(_ other: Ask.Mark) -> Bool {
        let delivered = max(self.delivered ?? 0, read ?? 0)
        return conversation == other.conversation && (other.read ?? 0) <= read ?? 0
            && (other.delivered ?? 0) <= delivered
    }

    mutating func raise(to other: Ask.Mark) {
        delivered = [delivered, other.delivered].compactMap(\.self).max()
        read = [read, other.read].compactMap(\.self).max()
    }
}

extension PresenceMessenger {
    /// Stores a mark until the server has it. If that fails, the mark is only sent during this process.
    func keep(_ mark: Ask.Mark) async {
        guard let owner = try? await ownUser(), told[mark.conversation]?.covers(mark) != true,
            !keptMarks.contains(where: { $0.isStored && $0.owner == owner && $0.mark.covers(mark) })
        else { return }
        let entry = KeptMark(owner: owner, mark: mark)
        let former = keptMarks.filter { $0.owner == owner && mark.covers($0.mark) }.map(\.id)
        keptMarks.append(entry)
        do {
            try await client.keep(try entry.write(at: Date()), of: userNumber)
        } catch {
            return keptMarks.removeAll { $0.id == entry.id }
        }
        // The mark was sent in the meantime, or the user changed.
        guard let place = keptMarks.firstIndex(where: { $0.id == entry.id }) else {
            return await removeStored([entry.id])
        }
        keptMarks[place].isStored = true
        await drop(former)
    }

    /// Restores marks of an earlier process or connection.
    func recallMarks() {
        for kept in keptMarks {
            marks[kept.mark.conversation, default: Ask.Mark(conversation: kept.mark.conversation)].raise(to: kept.mark)
        }
    }

    /// The server has accepted a mark.
    func took(_ mark: Ask.Mark) async {
        told[mark.conversation, default: Ask.Mark(conversation: mark.conversation)].raise(to: mark)
        await drop(keptMarks.filter { mark.covers($0.mark) }.map(\.id))
    }

    /// The user is no longer in the conversation, so its marks are dropped.
    func dropMarks(of conversation: String) {
        (marks[conversation], told[conversation]) = (nil, nil)
        let ids = keptMarks.filter { $0.mark.conversation == conversation }.map(\.id)
        guard !ids.isEmpty else { return }
        keptMarks.removeAll { ids.contains($0.id) }
        run { await $0.removeStored(ids) }
    }

    private func drop(_ ids: [String]) async {
        guard !ids.isEmpty else { return }
        keptMarks.removeAll { ids.contains($0.id) }
        await removeStored(ids)
    }
}

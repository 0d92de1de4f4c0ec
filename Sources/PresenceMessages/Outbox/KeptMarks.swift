import Foundation
import PresenceKit

/// The user's mark in a conversation (up to where it is read or delivered). For each conversation and kind of mark only
/// the furthest mark is kept.
typealias KeptMark = Kept<Ask.Mark>

extension Ask.Mark: Keepable {
    static var kind: String { "conversationMark" }
    static var mayGetLost: Bool? { true }
    var lane: String { conversation }

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
            !keptMarks.contains(where: { $0.isStored && $0.owner == owner && $0.body.covers(mark) })
        else { return }
        let entry = KeptMark(owner: owner, mark)
        let former = keptMarks.filter { $0.owner == owner && mark.covers($0.body) }.map(\.id)
        keptMarks.append(entry)
        do {
            try await store("a mark", entry.write)
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
            marks[kept.body.conversation, default: Ask.Mark(conversation: kept.body.conversation)].raise(to: kept.body)
        }
    }

    /// The server has accepted a mark.
    func took(_ mark: Ask.Mark) async {
        told[mark.conversation, default: Ask.Mark(conversation: mark.conversation)].raise(to: mark)
        await drop(keptMarks.filter { mark.covers($0.body) }.map(\.id))
    }

    /// The user is no longer in the conversation, so its marks are dropped.
    func dropMarks(of conversation: String) {
        (marks[conversation], told[conversation]) = (nil, nil)
        let ids = keptMarks.filter { $0.body.conversation == conversation }.map(\.id)
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

import PresenceCore
import PresenceProtocol
import Redis

extension Repair {
    /// Keeps the readable settings of a visibility, sets the others to `nobody`, and counts the lists again.
    func mendVisibility(of user: UserID) throws(RedisFailure) {
        let keys = partitions.keys(of: user)
        let redis = store[keys.floor]
        let record = keys.user(user)
        _ = try redis.change(watching: [record, keys.contacts(user), keys.blocks(user)]) {
            () throws(RedisFailure) in
            let field = try redis.run("HGET", record, "visibility")
            guard !field.isNull, field.string.map({ PolicyHead($0) == nil }) ?? true else { return nil }
            let words = (field.string ?? "").split(separator: " ", omittingEmptySubsequences: false)
            func setting(_ index: Int) -> String {
                (words.count > index ? Audience(letter: words[index]) : nil)?.letter ?? Audience.nobody.letter
            }
            let now = try redis.now()
            let floor = try redis.run("GET", keys.floor).int ?? 0
            // A damaged number must not become a version so high that no change can exceed it.
            let before = words.first.flatMap { Int64($0) }.map { min($0, now) } ?? 0
            let version = max(before, min(floor, .max - 1), now - 1) + 1
            let contacts = try redis.run("SCARD", keys.contacts(user)).int ?? 0
            let blocks = try redis.run("SCARD", keys.blocks(user)).int ?? 0
            let state = "\(setting(1)) \(setting(2)) \(contacts) \(blocks)"
            // The receipts setting that conversations use is copied here.
            let receipts = try redis.run("HGET", record, "receipts").string.map { $0.prefix(1) }
                .flatMap { ["e", "n"].contains($0) ? $0 : nil }
            let findable = try redis.run("HGET", record, "findable").string ?? ""
            let told = (receipts ?? (findable.isEmpty ? "" : "-")) + findable
            return [
                ["HSET", record, "visibility", "\(version) \(state)" + (receipts.map { " \($0)" } ?? "")],
                [
                    "PUBLISH", keys.events,
                    "V \(user.string) \(version) \(now) \(state) -" + (told.isEmpty ? "" : " =" + told),
                ],
            ]
        }
    }
}

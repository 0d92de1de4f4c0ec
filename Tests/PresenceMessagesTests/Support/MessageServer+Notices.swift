// The user's notifications, by the protocol's rules.
extension MessageServer {
    struct Notices {
        /// By number from 1; `nil`: archived.
        var items: [Object?] = []
        var seen = 0
        var read: Set<Int> = []
        var version = 1
        var shown = 50

        private func isUnseen(_ seq: Int) -> Bool { seq > seen }
        private var kept: [Int] { items.indices.map { $0 + 1 }.filter { items[$0 - 1] != nil } }

        var counts: Object {
            [
                "version": version, "unseen": kept.count(where: isUnseen), "unread": kept.count { !read.contains($0) },
                "seen": seen, "first": kept.first ?? items.count + 1,
            ]
        }

        /// Newest first.
        func page(before: Int = .max, _ limit: Int) -> [Object] {
            kept.filter { $0 < before }.suffix(limit).reversed().map { seq in
                read.contains(seq) ? items[seq - 1]!.merging(["read": true]) { $1 } : items[seq - 1]!
            }
        }

        func subscribed(parts: Int) -> [Object] {
            var rest = page(max(shown, kept.count(where: isUnseen)))[...]
            var answers: [Object] = []
            repeat {
                answers.append(["notifications": counts.merging(["items": Array(rest.prefix(parts))]) { $1 }])
                rest = rest.dropFirst(parts)
            } while !rest.isEmpty
            return answers
        }
    }

    /// A backend notifies the user.
    func notify(_ title: String, replaces: [Int] = []) {
        let sayings: [Saying] = state.withLock { state in
            let seq = state.notices.items.count + 1
            for former in replaces { state.notices.items[former - 1] = nil }
            let item: Object = [
                "seq": seq, "id": "n\(seq)", "kind": "test", "title": title, "at": 1_763_712_000_000 + seq,
            ]
            state.notices.items.append(item)
            state.notices.version += 1
            var event = state.notices.counts.merging(["type": "notification", "notification": item]) { $1 }
            if !replaces.isEmpty { event["replaces"] = replaces }
            return state.peers.values.filter(\.isNotified).map { ($0, event) }
        }
        for saying in sayings { saying.peer.say(Self.bytes(saying.object)) }
    }

    static func notices(
        _ asked: Object, _ type: String, _ id: Int, _ peer: Peer, _ state: inout State
    ) -> [Saying] {
        if type == "getNotifications" {
            let items = state.notices.page(before: asked["before"] as? Int ?? .max, asked["limit"] as! Int)
            return [
                (peer, state.notices.counts.merging(["type": "notifications", "id": id, "items": items]) { $1 })
            ]
        }
        func numbers(_ name: String) -> [Int] {
            // In the form in which `sendable` leaves numbers in arrays.
            (asked[name] as? [Object] ?? []).compactMap { ($0[""] as? String).flatMap { Int($0) } }
        }
        state.notices.seen = max(state.notices.seen, asked["seen"] as? Int ?? 0)
        state.notices.read.formUnion(numbers("read"))
        for seq in numbers("archived") { state.notices.items[seq - 1] = nil }
        state.notices.version += 1
        return [(peer, state.notices.counts.merging(["type": "notificationCounts", "id": id]) { $1 })]
    }
}

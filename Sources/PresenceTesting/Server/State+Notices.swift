import Foundation

// The user's notifications (docs/protocol.md, section 17).
extension InMemoryServer {
    struct Notices {
        /// By number from 1; `nil`: archived, replaced, or beyond the newest 200.
        var items: [Object?] = []
        var seen = 0
        var read: Set<Int> = []
        var version = 1
        /// Ids of notifications that are no longer there.
        var former: Set<String> = []
        /// Events for the user's sessions, and the connection that caused them.
        var events: [(object: Object, by: Int?)] = []

        private var kept: [Int] { items.indices.map { $0 + 1 }.filter { items[$0 - 1] != nil } }

        var counts: Object {
            [
                "version": version, "unseen": kept.count { $0 > seen }, "unread": kept.count { !read.contains($0) },
                "seen": seen, "first": kept.first ?? items.count + 1,
            ]
        }

        /// Newest first.
        func page(before: Int? = nil, _ limit: Int) -> [Object] {
            kept.filter { $0 < before ?? .max }.suffix(limit).reversed().map { seq in
                let item = items[seq - 1]!.filter { $0.key != "collapse" }
                return read.contains(seq) ? item.merging(["read": true]) { $1 } : item
            }
        }

        /// The reply to a subscription: the newest 50, and all unseen ones.
        func parts(of limit: Int) -> [Object] {
            var rest = page(max(50, kept.count { $0 > seen }))[...]
            var parts: [Object] = []
            repeat {
                parts.append(["notifications": counts.merging(["items": Array(rest.prefix(limit))]) { $1 }])
                rest = rest.dropFirst(limit)
            } while !rest.isEmpty
            return parts
        }

        /// - Returns: whether the id is new.
        mutating func add(_ item: Object, at time: Int, replacing others: [Int] = []) -> Bool {
            let id = item["id"] as! String
            guard !former.contains(id), !kept.contains(where: { items[$0 - 1]!["id"] as? String == id }) else {
                return false
            }
            let collapsed = kept.filter { seq in
                let collapse = items[seq - 1]!["collapse"] as? String
                return collapse != nil && collapse == item["collapse"] as? String && !read.contains(seq)
            }
            let replaced = others + collapsed
            drop(replaced)
            items.append(item.merging(["seq": items.count + 1, "at": time]) { $1 })
            if kept.count > 200 { items[kept[0] - 1] = nil }
            version += 1
            var event = counts.merging(["type": "notification", "notification": page(1)[0]]) { $1 }
            if !replaced.isEmpty { event["replaces"] = replaced }
            events.append((event, nil))
            return true
        }

        mutating func mark(_ asked: Object, by number: Int?) {
            let (newlyRead, archived) = (asked["read"] as? [Int] ?? [], asked["archived"] as? [Int] ?? [])
            seen = min(max(seen, asked["seen"] as? Int ?? 0), items.count)
            read.formUnion(newlyRead.filter { kept.contains($0) })
            drop(archived.filter { kept.contains($0) })
            version += 1
            let members: Object = ["type": "notificationCounts", "read": newlyRead, "archived": archived]
            events.append((counts.merging(members) { $1 }, number))
        }

        private mutating func drop(_ numbers: [Int]) {
            for number in numbers {
                former.insert(items[number - 1]!["id"] as! String)
                items[number - 1] = nil
            }
        }
    }
}

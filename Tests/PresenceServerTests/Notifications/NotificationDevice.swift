import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A device of a `NotificationHistory`: it keeps the state that the protocol gives to a client.
final class NotificationDevice {
    struct Item: Equatable {
        let id: String
        var isRead = false
    }

    struct Counts: Equatable {
        var version: Int64 = -1
        var unseen = 0
        var unread = 0
        var seen: Int64 = 0
        var first: Int64 = 0
    }

    /// The ids of marked notifications.
    struct Marked {
        var seen: Int64 = 0
        var read: Set<String> = []
        var archived: Set<String> = []
    }

    private struct Wish {
        var seen: Int64
        var read: [Int64]
        var archived: [Int64]
    }

    let name: String
    private let place: Int
    private unowned let history: NotificationHistory
    private let client: SimulatedClient
    private(set) var items: [Int64: Item] = [:]
    private(set) var counts = Counts()
    /// The requested marks, and those of them that were acknowledged.
    private(set) var asked = Marked()
    private(set) var answered = Marked()
    private var wishes: [Wish] = []
    /// The request under way: the first wish.
    private var underWay: Int?
    private var subscribing: Int?
    private var requests = 0
    private var heard = 0
    private var isIn = false
    private var isWatching = false
    private var again: Milliseconds = 0

    init(_ name: String, at place: Int, in history: NotificationHistory) {
        self.name = name
        self.place = place
        self.history = history
        client = SimulatedClient(name, in: history.world)
    }

    var isDone: Bool { isIn && isWatching && wishes.isEmpty }

    // MARK: Actions

    func connect() {
        (isIn, isWatching, underWay, subscribing) = (false, false, nil, nil)
        client.dial(history.world.shards[place])
    }

    func isSlow(_ isSlow: Bool) {
        if isSlow { client.isSlow = true } else if client.isSlow { client.readsAgain() }
    }

    func rest(_ isAway: Bool) {
        if isIn { send(#""type":"activity","state":"\#(isAway ? "background" : "active")""#) }
    }

    /// Unsubscribes, or loses its connection.
    func leave() {
        guard isIn, isWatching else { return }
        if history.draw(0...1) == 0 { return client.lost() }
        isWatching = false
        send(#""type":"unsubscribe","notifications":true"#)
    }

    func mark(seen: Bool, read: Int, archived: Int) {
        let known = items.keys.sorted()
        guard !known.isEmpty else { return }
        let drawn = (0..<read + archived).map { _ in known[history.draw(0...known.count - 1)] }
        let upTo = seen ? known[history.draw(0...known.count - 1)] : 0
        let wish = Wish(seen: upTo, read: Array(drawn.prefix(read)), archived: Array(drawn.dropFirst(read)))
        wishes.append(wish)
        asked.read.formUnion(ids(wish.read))
        asked.archived.formUnion(ids(wish.archived))
    }

    private func ids(_ seqs: [Int64]) -> [String] { seqs.compactMap { items[$0]?.id } }

    private func keepGoing() {
        guard client.isConnected, isIn, history.world.now >= again else { return }
        if !isWatching, subscribing == nil {
            subscribing = send(#""type":"subscribe","notifications":true"#)
        }
        if isWatching, underWay == nil, let wish = wishes.first {
            underWay = send(
                #""type":"markNotifications","seen":\#(wish.seen),"read":\#(wish.read),"archived":\#(wish.archived)"#)
        }
    }

    @discardableResult
    private func send(_ json: String) -> Int {
        requests += 1
        client.sendText(#"{"id":\#(requests),\#(json)}"#)
        return requests
    }

    // MARK: Received messages

    func read() {
        while heard < client.texts.count {
            heard += 1
            let data = Data(client.texts[heard - 1].utf8)
            guard let message = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else { continue }
            receive(message)
        }
        if !client.isConnected { connect() }
        keepGoing()
    }

    private func receive(_ message: [String: Any]) {
        let id = message["id"] as? Int
        switch message["type"] as? String {
        case "connected": isIn = true
        case "subscribed": if let id, id == subscribing { begin(message["notifications"] as? [String: Any] ?? [:]) }
        case "notification": apply(message)
        case "notificationCounts": change(message, id)
        case "error":
            if message["code"] as? String != "unavailable", message["code"] as? String != "rate_limited" {
                history.fail("\(name) was answered \(message)")
            }
            if id == subscribing { subscribing = nil }
            if id == underWay { underWay = nil }
            again = history.world.now + 300
        default: break
        }
    }

    private func number(_ value: Any?) -> Int64 { (value as? NSNumber)?.int64Value ?? 0 }
    private func numbers(_ value: Any?) -> [Int64] { (value as? [NSNumber])?.map(\.int64Value) ?? [] }

    private func begin(_ list: [String: Any]) {
        (subscribing, isWatching) = (nil, true)
        items = [:]
        counts = Counts()
        for each in list["items"] as? [[String: Any]] ?? [] { hold(each) }
        adopt(list)
    }

    private func hold(_ item: [String: Any]) {
        items[number(item["seq"])] = Item(id: item["id"] as? String ?? "", isRead: item["read"] as? Bool ?? false)
    }

    private func apply(_ event: [String: Any]) {
        guard isWatching else { return }
        hold(event["notification"] as? [String: Any] ?? [:])
        for seq in numbers(event["replaces"]) { items[seq] = nil }
        adopt(event)
    }

    private func change(_ event: [String: Any], _ id: Int?) {
        if let id {
            guard id == underWay else { return history.fail("\(name) was answered twice") }
            let wish = wishes.removeFirst()
            underWay = nil
            answered.seen = max(answered.seen, wish.seen)
            answered.read.formUnion(ids(wish.read))
            answered.archived.formUnion(ids(wish.archived))
            for seq in wish.read { items[seq]?.isRead = true }
            for seq in wish.archived { items[seq] = nil }
        } else if !isWatching {
            return
        }
        for seq in numbers(event["read"]) { items[seq]?.isRead = true }
        for seq in numbers(event["archived"]) { items[seq] = nil }
        if event["kept"] != nil {
            let kept = Set(numbers(event["kept"]))
            items = items.filter { kept.contains($0.key) }
            if items.count != kept.count { history.fail("\(name) keeps \(kept), and has \(items.keys)") }
        }
        adopt(event)
    }

    private func adopt(_ event: [String: Any]) {
        let told = Counts(
            version: number(event["version"]), unseen: Int(number(event["unseen"])),
            unread: Int(number(event["unread"])), seen: number(event["seen"]), first: number(event["first"]))
        history.record(told, of: name)
        guard told.version >= counts.version else { return }
        if told.seen < counts.seen { history.fail("\(name) had seen \(counts.seen), and now \(told.seen)") }
        counts = told
        items = items.filter { $0.key >= told.first }
    }

    // MARK: Checks at the end

    func compare(with fresh: NotificationDevice) {
        if items != fresh.items { history.fail("a device of \(name) has \(items), and a new one \(fresh.items)") }
        if counts != fresh.counts { history.fail("a device of \(name) has \(counts), and a new one \(fresh.counts)") }
    }
}

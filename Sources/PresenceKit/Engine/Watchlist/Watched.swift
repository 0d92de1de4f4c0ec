import Foundation
import PresenceProtocol

/// An observed and subscribed item: a user or a conversation.
protocol Watchable: Sendable {
    init()
    var watch: Watch { get set }
    /// Whether the server confirmed it on this connection.
    var isConfirmed: Bool { get }
    mutating func confirm()
    /// The connection has ended; returns whether the item was confirmed.
    mutating func lose(at date: Date) -> Bool
    /// Another user signed in: values that the former one could see are dropped.
    mutating func forget(at date: Date)
    /// A part of the item changed. Observers that saw an older stamp are woken.
    mutating func mark(_ part: PersonPart, stamp: UInt64)
}

/// One register of a user, or both.
enum PersonPart: Sendable {
    case presence, profile, both
}

/// All observed items of one kind, by id.
struct Watched<Item: Watchable>: Sendable {
    private var items: [Identifier: Item] = [:]
    /// Ids to process at the end of the turn: new, without observers, or to be subscribed again.
    private var unsettled: Set<Identifier> = []
    /// Ids that changed since the end of the last turn.
    private var changed: Set<Identifier> = []
    private var lastStamp: UInt64 = 0

    subscript(id: Identifier) -> Item? { items[id] }
    var ids: some Collection<Identifier> { items.keys }
    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }
    var isSettled: Bool { unsettled.isEmpty }

    // MARK: Observers

    mutating func join(_ id: Identifier) {
        items[id, default: Item()].watch.join()
        if items[id]!.watch.stage == .unasked { unsettled.insert(id) }
    }

    mutating func leave(_ id: Identifier, at uptime: Duration) {
        guard items[id] != nil else { return }
        items[id]!.watch.leave(at: uptime)
        if items[id]!.watch.observers == 0 { unsettled.insert(id) }
    }

    // MARK: Changes

    /// Changes an item. If `change` returns true, its observers are woken.
    @discardableResult
    mutating func update(
        _ id: Identifier, _ part: PersonPart = .both, _ change: (inout Item) -> Bool
    ) -> Bool {
        guard let index = items.index(forKey: id), change(&items.values[index]) else { return false }
        lastStamp += 1
        items.values[index].mark(part, stamp: lastStamp)
        changed.insert(id)
        return true
    }

    /// Wakes the observers of these items.
    mutating func touch(where isConcerned: (Item) -> Bool) {
        for id in items.filter({ isConcerned($0.value) }).keys { update(id) { _ in true } }
    }

    mutating func takeChanged() -> Set<Identifier> {
        defer { changed = [] }
        return changed
    }

    // MARK: The connection

    /// A connection begins: all items must be subscribed.
    mutating func unsettle() {
        unsettled.formUnion(items.keys)
    }

    /// The connection has ended; returns the ids that were confirmed.
    mutating func lose(at date: Date) -> [Identifier] {
        var lost: [Identifier] = []
        for id in Array(items.keys) {
            if update(id, .both, { $0.lose(at: date) }) { lost.append(id) }
            if items[id]!.watch.observers == 0 { unsettled.insert(id) }
        }
        return lost
    }

    mutating func forget(at date: Date) {
        for id in Array(items.keys) {
            update(id) { item in
                item.forget(at: date)
                return true
            }
        }
    }

    mutating func removeAll() {
        items = [:]
        unsettled = []
        changed = []
    }

    // MARK: Subscriptions

    /// The reply to a subscription is complete.
    mutating func answered(_ id: Identifier) {
        guard items[id]?.watch.stage == .asked else { return }
        items[id]!.watch.answered()
        if items[id]!.watch.observers == 0 { unsettled.insert(id) }
    }

    /// A subscription was rejected; returns whether it was pending.
    mutating func refuse(_ id: Identifier, _ error: PresenceError, at uptime: Duration) -> Bool {
        guard items[id]?.watch.stage == .asked else { return false }
        update(id) { item in
            item.watch.refuse(error, at: uptime)
            return true
        }
        if error.isPassing || items[id]!.watch.observers == 0 { unsettled.insert(id) }
        return true
    }

    /// There is room again for subscriptions that were rejected without a request.
    mutating func readmit() {
        for (id, item) in items {
            var watch = item.watch
            guard watch.readmit() else { continue }
            items[id]!.watch = watch
            unsettled.insert(id)
        }
    }

    /// The number of unsettled items with observers.
    var wanting: Int {
        unsettled.count { items[$0].map { $0.watch.observers > 0 } ?? false }
    }

    /// Removes items without observers whose grace period has passed at `uptime`.
    mutating func takeLeft(at uptime: Duration?) -> [(id: Identifier, item: Item)] {
        var left: [(id: Identifier, item: Item)] = []
        for id in unsettled {
            guard let item = items[id] else {
                unsettled.remove(id)
                continue
            }
            guard item.watch.isOver(at: uptime) else { continue }
            unsettled.remove(id)
            // An item stays while its reply is pending; the reply makes it unsettled again.
            if item.watch.stage == .asked { continue }
            items[id] = nil
            left.append((id, item))
        }
        return left
    }

    /// The ids to subscribe to at `uptime`, sorted. Each uses one unit of `room`; those without room are rejected.
    mutating func takeWanting(at uptime: Duration, room: inout Int, refusal: PresenceError) -> [Identifier] {
        var asked: [Identifier] = []
        for id in unsettled.sorted() {
            guard let watch = items[id]?.watch, watch.observers > 0, !watch.waits(at: uptime) else { continue }
            unsettled.remove(id)
            guard watch.canBeAsked else { continue }
            if room > 0 {
                room -= 1
                items[id]!.watch.ask()
                asked.append(id)
            } else {
                update(id) { item in
                    item.watch.refuse(forRoom: refusal)
                    return true
                }
            }
        }
        return asked
    }

    func nextDeadline(whileConnected isConnected: Bool) -> Duration? {
        unsettled.lazy.compactMap { items[$0]?.watch.nextDeadline(whileConnected: isConnected) }.min()
    }
}

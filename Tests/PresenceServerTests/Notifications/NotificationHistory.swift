import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of a user with three devices, and of another user, whom a backend notifies through three servers
/// with the real scripts and a real Redis. Between any script and its answer the server may die, lose its connections,
/// be slow, or pause; in half of the histories Redis returns errors for a moment, is silent or ends, and in a third its
/// clock is set back. The backend repeats requests that were not answered 202, and sometimes others; devices mark,
/// leave, return, read slowly, and unsubscribe for a while.
///
/// At all times a version has the same counts on every device. At the end, when all is quiet, every device has the same
/// list and counts, and they equal those of a model that knows only the requests and their answers.
final class NotificationHistory: DrawnHistory {
    struct Post {
        let id: String
        let users: [String]
        let collapse: String?
    }

    let world: World
    let redis: SimulatedRedis
    private var random: SplitMix64
    private let trouble: Int
    /// Whether Redis' clock is set back now and then.
    private let clockSteps: Bool
    private var stepsBack = 0
    /// In half of the histories.
    private var redisTrouble: RedisTrouble?
    private var isQuiet = false
    private(set) var fault: HistoryFault?
    private(set) var devices: [NotificationDevice] = []
    /// The counts received, by user and version.
    private var counts: [String: [Int64: NotificationDevice.Counts]] = [:]
    /// The posted notifications, in order; the first one without an answer is under way.
    private var posts: [Post] = []
    private var accepted = 0
    private var call: SimulatedCall?
    private var calledAt: Milliseconds = 0
    /// Notifications posted again after their answer.
    private var echoes: [SimulatedCall] = []
    private var deaths = 0
    private var stored = 0
    var tally: [String: Int] {
        [
            "deaths": deaths, "stored": stored, "outages": redisTrouble?.count ?? 0,
            "refused": redisTrouble?.refused ?? 0, "steps back": stepsBack,
        ]
    }
    /// The most notifications that a user keeps.
    static let keep = 12

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        random = SplitMix64(seed &* 0x9E37_79B9 &+ 23)
        trouble = [2, 6, 12, 20].randomElement(using: &random)!
        clockSteps = seed % 3 == 1
        self.redis = redis
        world = try World(shards: 3, seed: seed, redis: redis) { $0[Notifications.keep] = Self.keep }
        if seed.isMultiple(of: 2) { redisTrouble = RedisTrouble(world) }
        redis.ran = { [unowned self] script, arguments, _ in ran(script, arguments) }
        devices = [("ana", 0), ("ana", 1), ("ana", 2), ("bob", 1)].map { NotificationDevice($0.0, at: $0.1, in: self) }
    }

    func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }

    func fail(_ text: String) { fault = fault ?? HistoryFault(description: "at \(world.now): \(text)") }

    // MARK: Course

    func play() throws {
        for device in devices { device.connect() }
        for _ in 0..<60 {
            step()
            try world.run(for: Milliseconds(draw(0...1) == 0 ? draw(0...10) : draw(0...800)))
            try check()
        }
        try quieten()
    }

    private func step() {
        let device = devices[draw(0...3)]
        switch draw(0...13) {
        case 0...5: post()
        case 6: device.mark(seen: true, read: 0, archived: 0)
        case 7, 8: device.mark(seen: draw(0...1) == 0, read: draw(1...3), archived: 0)
        case 9: device.mark(seen: false, read: 0, archived: draw(1...2))
        case 10: device.isSlow(draw(0...1) == 0)
        case 11: device.rest(draw(0...1) == 0)
        case 12: device.leave()
        default: echo()
        }
    }

    private func post() {
        let users = [["ana"], ["ana", "bob"], ["bob", "ana", "cy", "dan"]].randomElement(using: &random)!
        let collapse = draw(0...2) == 0 ? "c\(draw(1...2))" : nil
        posts.append(Post(id: "n\(posts.count)", users: users, collapse: collapse))
    }

    /// Posts one after the other, because the model depends on their order. Requests not answered 202 are sent again.
    private func keepPosting() {
        if let call {
            if call.status == 202 {
                if call.json["accepted"] as? Int != posts[accepted].users.count { fail("accepted: \(call.json)") }
                accepted += 1
                self.call = nil
            } else if call.status == 503 || world.now > calledAt + 5_000 {
                self.call = nil
            } else if call.status != nil {
                fail("posting was answered \(call.status ?? 0) \(call.json)")
                self.call = nil
            }
        }
        guard call == nil, accepted < posts.count else { return }
        call = send(posts[accepted])
        calledAt = world.now
    }

    /// A backend that lost its answer, or repeats for another reason.
    private func echo() {
        guard accepted > 0 else { return }
        echoes.append(send(posts[draw(max(0, accepted - 8)...accepted - 1)]))
        echoes = echoes.suffix(8)
    }

    private func send(_ post: Post) -> SimulatedCall {
        var body: [String: Any] = ["users": post.users, "id": post.id, "kind": "test", "title": "T"]
        body["collapse"] = post.collapse
        let shards = world.shards.filter { !$0.isDead }
        let shard = shards.isEmpty ? world.shards[0] : shards[draw(0...shards.count - 1)]
        return SimulatedCall("POST", "/v1/notifications", body, token: "!backend", to: shard)
    }

    // MARK: Faults

    private func ran(_ script: Script, _ arguments: [String]) {
        guard Script.notificationScripts.contains(script), arguments.count > 2, !isQuiet,
            let place = world.shards.firstIndex(where: { $0.logic.link.incarnation == arguments[2] })
        else { return }
        if script == .notify { stored += 1 }
        guard draw(0...99) < trouble else { return }
        deaths += 1
        world.after(0) { [unowned self] in harm(place) }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        if clockSteps, draw(0...1) == 0 {
            stepsBack += 1
            world.redisEpoch -= Milliseconds(draw(1_000...3_600_000))
        }
        switch draw(0...(redisTrouble == nil ? 7 : 9)) {
        case 0, 1:
            shard.die()
            world.replaceShard(at: place)
        case 2: shard.cut(.commands)
        case 3: shard.cutAll()
        case 4: shard.cutSubscription()
        case 5: shard.hold(.commands, for: Milliseconds(draw(100...4_500)))
        case 6: shard.holdEvents(for: Milliseconds(draw(50...2_000)))
        case 7:
            shard.stop()
            world.after(Milliseconds(draw(10...4_000))) { shard.wakeUp() }
        default: redisTrouble?.begin(draw)
        }
    }

    // MARK: Checks

    private func check() throws {
        for device in devices { device.read() }
        keepPosting()
        if let fault { throw fault }
    }

    /// Checks that all devices receive the same counts for a version.
    func record(_ told: NotificationDevice.Counts, of user: String) {
        let known = counts[user, default: [:]].updateValue(told, forKey: told.version)
        if let known, known != told { fail("version \(told.version) of \(user) is \(known) and \(told)") }
    }

    private func quieten() throws {
        isQuiet = true
        redisTrouble?.end()
        try world.calm()
        for device in devices {
            device.isSlow(false)
            device.rest(false)
        }
        for _ in 0..<120 {
            try world.run(for: 500)
            try check()
            if accepted == posts.count, devices.allSatisfy(\.isDone) { break }
        }
        if accepted < posts.count { fail("\(posts[accepted]) is never accepted") }
        for device in devices where !device.isDone { fail("\(device.name) is never done") }
        try world.run(for: 3_000)
        try check()
        // A client that subscribes now receives the common state. Its subscription changes nothing, so the others
        // receive no event.
        let fresh = ["ana", "bob"].map { NotificationDevice($0, at: 2, in: self) }
        for device in fresh { device.connect() }
        for _ in 0..<40 where !fresh.allSatisfy(\.isDone) {
            try world.run(for: 250)
            for device in fresh { device.read() }
        }
        for device in devices { device.compare(with: fresh[device.name == "ana" ? 0 : 1]) }
        for user in ["ana", "bob"] { compare(user, fresh[user == "ana" ? 0 : 1]) }
        if let fault { throw fault }
    }

    // MARK: The model

    /// Compares a device with the notifications that must, must not and may be present. If a mark and a post were under
    /// way together, either may have come first.
    private func compare(_ user: String, _ device: NotificationDevice) {
        let own = posts.filter { $0.users.contains(user) }
        let marks = devices.filter { $0.name == user }
        let items = device.items.sorted { $0.key < $1.key }
        let ids = items.map(\.value.id)
        if Set(ids).count != ids.count { fail("\(user) has something twice: \(ids)") }
        // A notification posted later has a larger number.
        let order = ids.compactMap { id in own.firstIndex { $0.id == id } }
        if order.count != ids.count || order != order.sorted() { fail("\(user) has \(ids) of \(own.map(\.id))") }
        for (index, post) in own.enumerated() {
            let item = device.items.values.first { $0.id == post.id }
            let later = own[(index + 1)...].contains { $0.collapse != nil && $0.collapse == post.collapse }
            let isReadAsked = marks.contains { $0.asked.read.contains(post.id) }
            let isArchivedAsked = marks.contains { $0.asked.archived.contains(post.id) }
            let isArchived = marks.contains { $0.answered.archived.contains(post.id) }
            let isRead = marks.contains { $0.answered.read.contains(post.id) }
            if let item {
                if isArchived { fail("\(post.id) was archived by \(user), and is there") }
                if later, !isReadAsked { fail("\(post.id) was replaced, and \(user) has it") }
                if item.isRead, !isReadAsked { fail("\(post.id) was never read by \(user), and is said to be") }
                if isRead, !item.isRead { fail("\(post.id) was read by \(user), and is said not to be") }
            } else if !isArchivedAsked, !later, own.count - index <= Self.keep {
                fail("\(post.id) is lost to \(user), who has \(ids)")
            }
        }
        let seen = marks.map(\.answered.seen).max() ?? 0
        let counts = device.counts
        if counts.seen < seen { fail("\(user) has seen \(counts.seen), where \(seen) was answered") }
        let unseen = device.items.keys.count { $0 > counts.seen }
        let unread = device.items.values.count { !$0.isRead }
        if counts.unseen != unseen { fail("unseen of \(user) is \(counts.unseen), and \(unseen) are") }
        if counts.unread != unread { fail("unread of \(user) is \(counts.unread), and \(unread) are") }
    }
}

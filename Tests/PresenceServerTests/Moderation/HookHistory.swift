import Foundation
import OutgoingHTTP
import PresenceProtocol
import Redis
import TestSupport

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A random history of two users, each with two devices, whose messages in a group are checked before they are stored, on
/// three servers with the real scripts and a real Redis. The operator's server allows, refuses or replaces a text, at once or
/// late, or gives no answer; where failures refuse, it is out of reach at times. Between any script and its answer the server may die, lose its connections, be slow, or pause.
/// The users behave like good clients: on a new connection they repeat unanswered messages in their order, and sometimes
/// send a message from both devices at once.
///
/// At all times: nothing is stored that was refused or not asked about, and a replaced text is stored as replaced. A message
/// is stored once. The answer to a message and the store never contradict each other. Messages of a connection are stored
/// in the order in which they were sent. Without faults no message is asked about twice.
final class HookHistory: DrawnHistory {
    let world: World
    private let redis: SimulatedRedis
    private var random: SplitMix64
    private let trouble: Int
    private let refusesOnFailure: Bool
    private let files: ScratchDirectory
    private var isQuiet = true
    private var fault: HistoryFault?
    private var devices: [Device] = []
    /// Above the ids that clients draw for requests of their own.
    private var numbers = 1_000
    /// The device of each message that was sent by one alone.
    private var origins: [String: Int] = [:]
    /// How often each message was asked about.
    private var asks: [String: Int] = [:]
    /// The stored messages in their order.
    private var stored: [String] = []
    private var answeredSent: Set<String> = []
    private var answeredRefused: Set<String> = []
    private(set) var tally: [String: Int] = [:]

    private static let group = "talk"
    private static let kinds = ["allow", "refuse", "replace", "slow", "gone"]
    static let scripts: [Script] = [.send]

    /// A connection, with its messages that are not answered yet.
    private final class Device {
        let client: SimulatedClient
        var waiting: [Sent] = []
        init(_ client: SimulatedClient) { self.client = client }
    }

    private struct Sent {
        /// `KIND-USER-NUMBER`.
        let id: String
        let request: Int
    }

    init(seed: UInt64, on redis: SimulatedRedis) throws {
        random = SplitMix64(seed &* 0x9E37_79B9 &+ 117)
        trouble = [0, 5, 15, 30].randomElement(using: &random)!
        let refuses = Bool.random(using: &random)
        refusesOnFailure = refuses
        self.redis = redis
        files = try ScratchDirectory()
        let secret = try files.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", to: "secret")
        chmod(secret, 0o600)
        world = try World(shards: 3, seed: seed, redis: redis) {
            $0.redis.interests = seed.isMultiple(of: 2)
            $0[Moderation.url] = "http://127.0.0.1:1/"
            $0[Moderation.secretFile] = secret
            $0[Moderation.onFailure] = refuses ? .refuse : .allow
        }
        redis.ran = { [unowned self] in ran($0, $1, $2) }
        world.shards.forEach(judge)
        for name in ["ana", "bob", "ana", "bob"] {
            let device = Device(SimulatedClient(name, in: world))
            device.client.onClose = { [unowned self] _ in count("closes") }
            devices.append(device)
        }
    }

    private func draw(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &random) }
    private func fail(_ text: String) { fault = fault ?? HistoryFault(description: "at \(world.now): \(text)") }
    private func count(_ what: String) { tally[what, default: 0] += 1 }
    private static func kind(_ id: String) -> Substring { id.prefix { $0 != "-" } }

    // MARK: The operator's server

    private func judge(_ shard: SimulatedShard) {
        let logic = shard.logic!
        logic.feature(Moderation.self)!.obstacle = { [unowned self] in isOut ? .unreachable : nil }
        logic.feature(Moderation.self)!.judge = { [unowned self, unowned logic] draft, _, _ in
            asks[draft.id, default: 0] += 1
            count("asks")
            if trouble == 0, Self.kind(draft.id) != "gone", asks[draft.id]! > 1 {
                fail("\(draft.id) is asked about twice")
            }
            let delay = Milliseconds(Self.kind(draft.id) == "slow" ? draw(200...1_400) : draw(1...60))
            await logic.tasks.wait { done in
                world.after(delay) { [weak shard] in
                    guard let shard, !shard.isDead else { return }
                    shard.input { _ in done(()) }
                }
            }
            return Self.verdict(draft.id)
        }
    }

    private var isOut: Bool { refusesOnFailure && !isQuiet && world.now / 400 % 4 == 3 }

    private static func verdict(_ id: String) -> Verdict? {
        switch kind(id) {
        case "refuse": .refuse(reason: "No")
        case "replace": .replace(text: Array("\"other-\(id)\"".utf8))
        case "gone": nil
        default: .allow
        }
    }

    /// The text with which a message must be stored; `nil` if it must not be.
    private func text(of id: String) -> String? {
        switch Self.verdict(id) {
        case .refuse: nil
        case .replace(let text): String(decoding: text, as: UTF8.self)
        case .allow: "\"\(id)\""
        case nil: refusesOnFailure ? nil : "\"\(id)\""
        }
    }

    // MARK: Course

    func play() throws {
        let call = SimulatedCall(
            "PUT", "/v1/conversations/\(Self.group)/participants", ["participants": ["ana", "bob"]], token: "!backend",
            to: world.shards[0])
        try world.run(until: "there is a group") { call.status == 200 }
        isQuiet = false
        for _ in 0..<70 {
            step()
            // Usually so short that much is under way.
            try world.run(for: Milliseconds(draw(0...4) == 0 ? draw(0...2_000) : draw(0...20)))
            try check()
        }
        try quieten()
    }

    private func check() throws {
        for device in devices { read(device) }
        if let fault { throw fault }
    }

    private func step() {
        for device in devices where !device.client.isConnected { connect(device) }
        let device = devices[draw(0...devices.count - 1)]
        if draw(0...12) == 0 { return device.client.lost() }
        numbers += 1
        let id = "\(Self.kinds[draw(0...4)])-\(device.client.user)-\(numbers)"
        send(id, on: device)
        guard draw(0...3) == 0 else {
            origins[id] = devices.firstIndex { $0 === device }
            return
        }
        // From the other device, too.
        for other in devices where other.client.user == device.client.user && other !== device { send(id, on: other) }
    }

    private func connect(_ device: Device) {
        guard let shard = world.shards.filter({ !$0.isDead && $0.logic.link.isLive }).randomElement(using: &random)
        else { return }
        let waiting = device.waiting
        device.waiting = []
        device.client.dial(shard)
        for sent in waiting { send(sent.id, on: device) }
    }

    private func send(_ id: String, on device: Device) {
        guard device.client.isConnected else { return }
        numbers += 1
        device.waiting.append(Sent(id: id, request: numbers))
        device.client.sendText(
            #"{"type":"send","id":\#(numbers),"conversation":"\#(Self.group)","message":{"id":"\#(id)","text":"\#(id)"}}"#
        )
    }

    /// The number of each client's messages that were read.
    private var readTo: [ObjectIdentifier: Int] = [:]

    private func read(_ device: Device) {
        let key = ObjectIdentifier(device)
        for text in device.client.texts[(readTo[key] ?? 0)...] {
            guard let answer = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
                let request = answer["id"] as? Int,
                let place = device.waiting.firstIndex(where: { $0.request == request })
            else { continue }
            let id = device.waiting.remove(at: place).id
            switch (answer["type"] as? String, answer["code"] as? String) {
            case ("sent", _):
                answeredSent.insert(id)
                count("sent")
                if !stored.contains(id) { fail("\(id) is answered, and not stored") }
            // The text was not checked, so another device may succeed.
            case (_, "refused") where refusesOnFailure && answer["reason"] == nil: count("undecided")
            case (_, "refused"):
                answeredRefused.insert(id)
                count("refused")
                if self.text(of: id) != nil { fail("\(id) is refused, and was not") }
            // Whether it is stored is unknown, and the client gives up.
            case (_, "unavailable"): count("unavailable")
            default: fail("\(id) is answered \(text)")
            }
            if answeredRefused.contains(id), stored.contains(id) { fail("\(id) is both stored and refused") }
        }
        readTo[key] = device.client.texts.count
    }

    // MARK: What Redis runs

    private func ran(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        guard script == .send, arguments.count > 7 else { return }
        if case .success(let value) = answer, let words = value.array, words.first?.string == "OK", words.count > 2,
            let message = words.last?.bytes.flatMap({ StoredMessage($0) })
        {
            let (id, held) = (message.id, String(decoding: message.text, as: UTF8.self))
            if stored.contains(id) { fail("\(id) is stored twice") }
            if asks[id] == nil { fail("\(id) is stored, and was not asked about") }
            if text(of: id) == nil { fail("\(id) is stored, and was refused") }
            if let wanted = text(of: id), held != wanted { fail("\(id) is stored as \(held)") }
            stored.append(id)
        }
        guard !isQuiet, draw(0...199) < trouble,
            let place = world.shards.firstIndex(where: { $0.logic.link.incarnation == arguments[2] })
        else { return }
        count("harms")
        world.after(0) { [unowned self] in harm(place) }
    }

    private func harm(_ place: Int) {
        let shard = world.shards[place]
        guard !shard.isDead, !isQuiet else { return }
        switch draw(0...5) {
        case 0, 1:
            shard.die()
            world.replaceShard(at: place)
            judge(world.shards[place])
        case 2: shard.cut(.commands)
        case 3: shard.cutAll()
        case 4: shard.hold(.commands, for: Milliseconds(draw(100...2_500)))
        default:
            shard.stop()
            world.after(Milliseconds(draw(10...3_000))) { shard.wakeUp() }
        }
    }

    // MARK: When all is quiet

    private func quieten() throws {
        isQuiet = true
        for shard in world.shards {
            shard.wakeUp()
            shard.stopHolding()
        }
        try world.run(until: "all are live", within: 120_000) { [self] in
            world.shards.allSatisfy { $0.logic.link.isLive }
        }
        for _ in 0..<10 {
            for device in devices where !device.client.isConnected { connect(device) }
            try world.run(for: 10_000)
            try check()
        }
        for device in devices where !device.waiting.isEmpty { fail("\(device.waiting.map(\.id)) are never answered") }
        for id in answeredSent where !stored.contains(id) { fail("\(id) is lost") }
        checkOrder()
        if let fault { throw fault }
    }

    /// A user's messages that were sent by one device alone, and answered, are stored in the order of their numbers.
    private func checkOrder() {
        for user in ["ana", "bob"] {
            var last: [Int: (number: Int, id: String)] = [:]
            for id in stored where answeredSent.contains(id) && id.contains("-\(user)-") {
                guard let number = Int(id.split(separator: "-").last ?? ""), let place = origins[id] else { continue }
                if let before = last[place], before.number > number { fail("\(before.id) is stored before \(id)") }
                last[place] = (number, id)
            }
        }
    }

}

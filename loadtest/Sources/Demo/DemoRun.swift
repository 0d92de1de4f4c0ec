import Foundation
import PresenceProtocol

/// The demo scenario: every person has a time for their next, random action.
final class DemoRun: Scenario {
    let options: DemoCommand
    let engine: Engine
    var people: [DemoPerson]
    var random = SystemRandomNumberGenerator()
    /// Conversations of nine people and the viewer, by the place of their first one divided by nine.
    var conversations: [Int: ConversationID] = [:]
    var deeds = 0

    private let mint: TokenMint
    private let began = Instant.now()
    private var progress: Progress
    private var hasAnybodyCome = false
    private var hasIntroduced = false
    private var refusals = 0
    /// Circles whose conversation was requested.
    private var asked: Set<Int> = []
    /// 1 if the last circle has a single person who is also the viewer: there is no conversation then.
    private var alone = 0

    init(_ options: DemoCommand, engine: Engine, mint: TokenMint) {
        self.options = options
        self.engine = engine
        self.mint = mint
        people = []
        progress = Progress(always: options.progress)
        for index in 0..<options.people {
            // One person of every circle connects immediately and makes their conversation; most others connect within
            // seconds.
            let wait = index % Self.circle == 0 ? 0 : Double.random(in: 0...(Bool.random() ? 3 : 20))
            people.append(DemoPerson(index: index, next: began + .seconds(wait / options.pace), random: &random))
        }
    }

    func finish() { progress.clear() }

    var summary: String {
        let refused = refusals > 0 ? ", \(formatted(refusals)) requests refused" : ""
        return "\(formatted(options.people)) people did \(formatted(deeds)) things\(refused)."
    }

    // MARK: - The clock

    func tick(now: Instant) -> Instant? {
        if options.duration > 0, now - began >= .seconds(options.duration) {
            engine.stop()
            return nil
        }
        var wake = progress.due ?? now + .seconds(1)
        if options.duration > 0 { wake = min(wake, began + .seconds(options.duration)) }
        for person in people.indices {
            keepTyping(person, now)
            if people[person].next <= now { act(person, now) }
            wake = min(wake, people[person].next, people[person].typing.map { min($0.until, $0.again) } ?? wake)
        }
        progress.show(now: now) {
            let here = people.count(where: \.isHere)
            let typing = people.count { $0.typing != nil }
            return
                "\(here) of \(people.count) people here, \(typing) typing, \(formatted(deeds)) deeds (Ctrl-C ends it)"
        }
        return wake
    }

    /// Schedules a person's next action after about this many seconds.
    func rest(_ person: Int, _ seconds: ClosedRange<Double>, _ now: Instant) {
        people[person].next = now + .seconds(.random(in: seconds) / options.pace)
    }

    // MARK: - Lines

    // Two tags for each person: one for each device.
    func dial(_ person: Int, device: Int) {
        do {
            _ = try engine.dial(tag: person * 2 + device)
            people[person].devices[device].line = .opening
        } catch {
            engine.stop(error)
        }
    }

    func opened(_ connection: ConnectionID, tag: Int) {
        let person = people[tag / 2]
        let kind = person.devices[tag % 2].kind
        let device = Device(
            id: DeviceID("\(person.id)-\(kind.rawValue)"), kind: kind, name: "\(person.name)'s \(kind.rawValue)")
        let connect = ClientMessage.Connect(
            token: mint.token(user: person.id.string), device: device, activity: person.isIdle ? .idle : .active)
        engine.send(ClientMessage(id: 1, .connect(connect)).encoded(), on: connection)
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) {
        if !hasAnybodyCome { return engine.stop(Failure(closing.description)) }
        let person = tag / 2
        people[person].devices[tag % 2].line = .none
        people[person].failures = min(people[person].failures + 1, 6)
        let longest = Double(1 << people[person].failures) / 2
        if !people[person].isHere { rest(person, 0.2...longest, .now()) }
    }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        let person = tag / 2
        switch try? ServerMessage.decode(message) {
        case .connected: welcome(person, device: tag % 2, connection)
        case .conversationCreated(_, let conversation):
            conversations[person / Self.circle] = conversation.id
            introduceIfReady()
        case .tokenExpiring:
            let token = mint.token(user: people[person].id.string)
            engine.send(ClientMessage(id: 2, .refresh(token: token)).encoded(), on: connection)
        case .error(let error) where error.code == .unauthorized:
            engine.stop(
                Failure(
                    "the server refused our token (\(error.message)); is --data-dir or --secret-file that server's?"))
        case .error: refusals += 1
        default: break
        }
    }

    // MARK: - Beginning

    /// The number of people who share a conversation: with the viewer they are ten, the limit.
    static let circle = 9

    private func welcome(_ person: Int, device: Int, _ connection: ConnectionID) {
        people[person].devices[device].line = .open(connection)
        people[person].failures = 0
        if device == 0, people[person].connection == connection {
            let changes = ProfileChanges(displayName: .set(people[person].name))
            engine.send(ClientMessage(id: 3, .updateProfile(changes)).encoded(), on: connection)
        }
        hasAnybodyCome = true
        let first = person / Self.circle * Self.circle
        guard asked.insert(person / Self.circle).inserted else { return }
        var participants = people[first..<min(first + Self.circle, people.count)].map(\.id)
        if let viewer = UserID(options.viewer), !participants.contains(viewer) { participants.append(viewer) }
        guard participants.count >= 2 else {
            alone = 1
            return introduceIfReady()
        }
        engine.send(ClientMessage(id: 4, .createConversation(participants: participants)).encoded(), on: connection)
    }

    private func introduceIfReady() {
        let circles = (people.count + Self.circle - 1) / Self.circle
        guard !hasIntroduced, conversations.count + alone == circles else { return }
        hasIntroduced = true
        progress.clear()
        let ids = (0..<circles).compactMap { conversations[$0]?.string }
        print(DemoIntroduction(options, people: people.map(\.id.string), conversations: ids).text)
        // Without a terminal it would wait for a full buffer.
        fflush(nil)
    }
}

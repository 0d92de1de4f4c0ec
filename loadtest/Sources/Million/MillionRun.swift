import Foundation
import PresenceProtocol

/// One process' part of a very large crowd.
///
/// A connection costs nine bytes here in addition to the engine's: everything else is computed from its number. Tokens
/// are made when they are sent, events are counted and dropped.
final class MillionRun: Scenario {
    private enum Stage: UInt8 { case waiting, coming, open }

    private let options: MillionCommand
    private let engine: Engine
    private let mint: TokenMint
    private let ring: Ring
    private let users = NumberedUsers(prefix: "m-")
    private var ramp: Ramp
    private var connections: [ConnectionID?]
    private var stages: [Stage]
    private var open = 0
    /// Connections whose first attempt is over, for the ramp.
    private var answered = 0
    /// Clients to be dialled again.
    private var agenda = Agenda<Int>()
    private var refused = 0
    private var lost = 0
    private var lastEnding: String?
    private var events = 0
    private var messages = 0
    /// Changes without an answer of the server, by user.
    private var changes: [Int: Instant] = [:]
    private var isListening = false
    private var input: [UInt8] = []
    private let start = Instant.now()
    private var lastOpened = Instant.now()
    private var nextLine = Instant.now()
    private var lineBefore: (at: Instant, used: Nanoseconds)
    private var lateness = Latencies()
    private(set) var failure: Failure?

    private static let lineInterval: Nanoseconds = .seconds(2)
    private static let presence = Array(#"{"type":"presence""#.utf8)
    /// Requests with smaller ids are the connection's own.
    private static let firstChangeID = 10

    init(_ options: MillionCommand, engine: Engine, mint: TokenMint) {
        self.options = options
        self.engine = engine
        self.mint = mint
        ring = Ring(total: options.users, watching: options.watch)
        ramp = Ramp(total: options.connections, rate: options.rate)
        connections = Array(repeating: nil, count: options.connections)
        stages = Array(repeating: .waiting, count: options.connections)
        lineBefore = (start, ProcessorTime.own())
        if options.hold { isListening = engine.attach(STDIN_FILENO) }
    }

    /// Prints the last line, and checks the result.
    func finish() {
        report(.now())
        guard open < options.connections else { return }
        let ending = lastEnding.map { "; the last failure was: \($0)" } ?? ""
        failure = Failure("only \(formatted(open)) of \(formatted(options.connections)) connections are open\(ending)")
    }

    // MARK: - The clock

    func tick(now: Instant) -> Instant? {
        for tag in ramp.due(now: now, ready: answered) {
            if options.rate > 0 { lateness.record(max(0, now - (start + .seconds(Double(tag) / options.rate)))) }
            dial(tag)
        }
        while let (_, tag) = agenda.next(now: now) { dial(tag) }
        if now >= nextLine {
            report(now)
            nextLine = now + Self.lineInterval
        }
        if open == options.connections {
            lastOpened = now
            if !options.hold { engine.stop() }
        } else if options.patience > 0, now - lastOpened > .seconds(options.patience) {
            engine.stop()
        }
        return [ramp.next(now: now), agenda.first].compactMap { $0 }.reduce(nextLine, min)
    }

    private func report(_ now: Instant) {
        let memory = OwnMemory.now()
        let used = ProcessorTime.own()
        let share = (used - lineBefore.used).inSeconds / max((now - lineBefore.at).inSeconds, 1e-3)
        MillionLine.print(
            MillionLine.Progress(
                seconds: rounded((now - start).inSeconds), open: open, sockets: engine.open, refused: refused,
                lost: lost, lastEnding: lastEnding, eventsReceived: events, messagesReceived: messages,
                ownCPUSeconds: rounded(used.inSeconds), ownCPUShare: rounded(share),
                ownResidentKilobytes: memory.resident, ownAnonymousKilobytes: memory.anonymous,
                bottlenecks: Bottlenecks.find(cpuShare: share, lateness: lateness)))
        lineBefore = (now, used)
        if lateness.count > 0 { lateness = Latencies() }
    }

    private func rounded(_ number: Double) -> Double { (number * 1e3).rounded() / 1e3 }

    // MARK: - Connections

    private func dial(_ tag: Int) {
        stages[tag] = .coming
        do {
            connections[tag] = try engine.dial(tag: tag, server: tag % engine.endpoints.count)
        } catch {
            ended(tag, .refused(error.description))
        }
    }

    func opened(_ connection: ConnectionID, tag: Int) {
        let number = options.firstUser + tag
        let user = users.user(number)
        let connect = ClientMessage.Connect(token: mint.token(user: user.string), device: .only(of: user.string))
        engine.send(ClientMessage(id: 1, .connect(connect)).encoded(), on: connection)
        let subscribe = ClientMessage.Subscribe(users: ring.watched(by: number).map(users.user))
        engine.send(ClientMessage(id: 2, .subscribe(subscribe)).encoded(), on: connection)
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) { ended(tag, closing) }

    private func ended(_ tag: Int, _ closing: Closing) {
        switch stages[tag] {
        case .open:
            open -= 1
            lost += 1
        case .coming, .waiting:
            answered += 1
            refused += 1
        }
        lastEnding = "\(closing)"
        connections[tag] = nil
        stages[tag] = .waiting
        // Within five seconds, each at a random moment.
        agenda.add(tag, at: .now() + .seconds(.random(in: 1...5)))
    }

    // MARK: - Receiving

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        messages += 1
        if Self.isPresence(message) {
            events += 1
            guard Marker.isPossible(in: message) else { return }
        }
        do {
            try receive(ServerMessage.decode(message), on: connection, tag, at)
        } catch {
            engine.stop(Failure("the server sent something that cannot be read: \(error)"))
        }
    }

    private static func isPresence(_ message: UnsafeRawBufferPointer) -> Bool {
        message.count > presence.count
            && presence.withUnsafeBytes { memcmp($0.baseAddress!, message.baseAddress!, $0.count) == 0 }
    }

    private func receive(_ message: ServerMessage, on connection: ConnectionID, _ tag: Int, _ at: Instant) {
        switch message {
        case .subscribed(_, _, _, more: false):
            guard stages[tag] == .coming else { return }
            stages[tag] = .open
            open += 1
            answered += 1
            lastOpened = at
        case .presence(_, let presence, _):
            guard let marker = Marker(presence.text) else { return }
            MillionLine.print(
                MillionLine.Received(
                    user: marker.user, watcher: options.firstUser + tag,
                    latencyMilliseconds: rounded((at - marker.made).inSeconds * 1e3)))
        case .ok(let id):
            let user = Int(id) - Self.firstChangeID
            guard let made = changes.removeValue(forKey: user) else { return }
            MillionLine.print(
                MillionLine.Acknowledged(user: user, latencyMilliseconds: rounded((at - made).inSeconds * 1e3)))
        case .error(let error): refuse(error, on: connection, tag)
        default: break
        }
    }

    private func refuse(_ error: ServerMessage.ErrorMessage, on connection: ConnectionID, _ tag: Int) {
        let what = "\(error.code.rawValue): \(error.message)"
        guard error.code != .unauthorized else {
            return engine.stop(
                Failure("the server refused our token (\(what)); is --data-dir or --secret-file that server's?"))
        }
        if let id = error.id, Int(id) >= Self.firstChangeID {
            return engine.stop(Failure("the server refused a change (\(what))"))
        }
        engine.abandon(connection)
        ended(tag, .refused("the server refused \(users.user(options.firstUser + tag)) something (\(what))"))
    }

    // MARK: - Commands

    func readable(_ descriptor: Int32) {
        var piece = [UInt8](repeating: 0, count: 4_096)
        let count = read(descriptor, &piece, piece.count)
        guard count > 0 else {
            engine.detach(descriptor)
            return engine.stop()
        }
        input += piece[..<count]
        while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
            obey(String(decoding: input[..<end], as: UTF8.self))
            input.removeFirst(end + 1)
        }
    }

    private func obey(_ line: String) {
        let words = line.split(separator: " ")
        guard words.count == 2, words[0] == "change", let user = Int(words[1]) else {
            return StandardFile.errors.write(Data("not a command: \(line); there is `change N`\n".utf8))
        }
        let tag = user - options.firstUser
        guard stages.indices.contains(tag), stages[tag] == .open, let connection = connections[tag] else { return }
        let made = Instant.now()
        changes[user] = made
        let change = StatusChange(status: .auto, text: .set(Marker(user: user, made: made).text))
        MillionLine.print(MillionLine.Changed(user: user, watchers: ring.watchers(of: user)))
        engine.send(ClientMessage(id: Int64(user + Self.firstChangeID), .status(change)).encoded(), on: connection)
    }
}

import PresenceProtocol

/// The clients' actions, and their messages.
extension StormRun {
    func perform(_ task: Task, due: Instant, _ now: Instant) {
        switch task {
        case .dial(let tag): dial(tag, due: due, now)
        case .subscribe(let tag, let connection): subscribe(tag, connection)
        }
    }

    func dial(_ tag: Int, due: Instant, _ now: Instant) {
        measurement.lateness.record(now - due)
        measurement.dialled += 1
        clients[tag].due = due
        clients[tag].stage = .coming
        do {
            clients[tag].connection = try engine.dial(tag: tag, server: tag % engine.endpoints.count)
        } catch {
            ended(tag, .refused(error.description))
        }
    }

    func opened(_ connection: ConnectionID, tag: Int) {
        let user = screens.clients.user(tag)
        let connect = ClientMessage.Connect(token: mint.token(user: user.string), device: .only(of: user.string))
        engine.send(ClientMessage(id: 1, .connect(connect)).encoded(), on: connection)
    }

    private func subscribe(_ tag: Int, _ connection: ConnectionID) {
        engine.send(ClientMessage(id: 2, .subscribe(screens.subscription(of: tag))).encoded(), on: connection)
    }

    func received(_ message: UnsafeRawBufferPointer, on connection: ConnectionID, tag: Int, at: Instant) {
        counters.messages += 1
        do {
            switch try cache.decode(message) {
            case .connected(_, let connected):
                clients[tag].comeback.connected(at: at, linger: connected.linger)
                subscribe(tag, connection)
            case .subscribed(_, let users, _, let more):
                for snapshot in users { screens.apply(snapshot, by: tag) }
                if !more { becomeBack(tag, at) }
                recordRight(at)
            case .presence(let user, let presence, _):
                counters.events += 1
                screens.apply(presence, of: user, by: tag)
                recordRight(at)
            case .stale: measurement.stale += 1
            case .error(let error): refuse(error, tag, connection, at)
            default: break
            }
        } catch {
            engine.stop(Failure("the server sent something that cannot be read: \(error)"))
        }
    }

    private func becomeBack(_ tag: Int, _ at: Instant) {
        guard clients[tag].stage == .coming else { return }
        clients[tag].stage = .back
        back += 1
        guard phase == .restarting || phase == .returning else { return }
        measurement.back.record(at - measurement.restarted)
        measurement.comeback.record(at - clients[tag].due)
        measurement.allBack = at
    }

    private func recordRight(_ at: Instant) {
        guard phase == .restarting || phase == .returning else { return }
        let isRight = back == clients.count && screens.wrong == 0
        if isRight != (measurement.allRight != nil) { measurement.allRight = isRight ? at : nil }
    }

    private func refuse(_ error: ServerMessage.ErrorMessage, _ tag: Int, _ connection: ConnectionID, _ at: Instant) {
        let what = "\(error.code.rawValue): \(error.message)"
        switch error.code {
        case .unavailable:
            measurement.unavailable += 1
            agenda.add(.subscribe(tag, connection), at: at + .milliseconds(Double(error.retryAfter ?? 1_000)))
        case .unauthorized:
            engine.stop(
                Failure("the server refused our token (\(what)); is --data-dir or --secret-file that server's?"))
        default: engine.stop(Failure("the server refused \(screens.clients.user(tag)) something (\(what))"))
        }
    }

    func closed(_ connection: ConnectionID, tag: Int, _ closing: Closing) { ended(tag, closing) }

    private func ended(_ tag: Int, _ closing: Closing) {
        if phase == .connecting || phase == .calm {
            return engine.stop(Failure("before the restart, \(screens.clients.user(tag)) was disconnected: \(closing)"))
        }
        measurement.endings[closing.kind, default: 0] += 1
        if clients[tag].stage == .back {
            back -= 1
            measurement.lost += 1
            measurement.allRight = nil
        }
        clients[tag].connection = nil
        clients[tag].stage = .waiting
        let now = Instant.now()
        guard let wait = clients[tag].comeback.wait(after: closing, now: now, random: &random) else {
            return engine.stop(Failure("\(screens.clients.user(tag)) may never come back: \(closing)"))
        }
        guard options.atOnce else { return agenda.add(.dial(tag), at: now + wait) }
        // Until the server accepts connections again they only wait; then rejected clients retry again and again.
        if phase != .restarting { agenda.add(.dial(tag), at: now + .milliseconds(100)) }
    }
}

extension Closing {
    /// Its name in reports.
    fileprivate var kind: String {
        switch self {
        case .refused: "refused"
        case .closed(let code, _): code.map { "closed\($0)" } ?? "closedWithoutCode"
        case .lost: "lost"
        case .violation: "violation"
        }
    }
}

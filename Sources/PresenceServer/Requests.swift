import Foundation
import PresenceProtocol
import Redis

/// What each message of a client does.
extension ShardLogic {
    private var connectionLimits: ConnectionLimits {
        ConnectionLimits(
            maxMessageBytes: configuration.limits.maxMessageBytes,
            maxServerMessageBytes: configuration.limits.maxServerMessageBytes,
            subscriptions: configuration.limits.subscriptions, subscribeBatch: configuration.limits.subscribeBatch)
    }

    func handle(_ bytes: UnsafeRawBufferPointer, on connection: Connection) {
        let message: ClientMessage
        do throws(DecodingFailure) {
            message = try ClientMessage.decode(bytes, limits: connectionLimits)
        } catch {
            var answer = error.errorMessage
            if connection.session == nil, error.code == .unknownType {
                answer = .init(id: error.id, code: .unauthorized, message: "connect first")
            }
            return refuse(answer, on: connection)
        }
        if case .connect(let connect) = message.body {
            return self.connect(connection, message.id, connect)
        }
        guard let session = connection.session else {
            return refuse(.init(id: message.id, code: .unauthorized, message: "connect first"), on: connection)
        }
        switch message.body {
        case .connect: break
        case .refresh(let token): refresh(connection, message.id, token)
        case .subscribe(let subscribe): self.subscribe(connection, message.id, subscribe)
        case .unsubscribe(let users, let conversations): unsubscribe(connection, message.id, users, conversations)
        case .get(let users): get(connection, message.id, users)
        case .status(let change): choose(connection, session, message.id, change)
        case .activity(let activity):
            sessions.change(session, to: activity)
            replies.now(on: connection) { [self] in replies.ok(message.id, to: connection) }
        case .updateProfile(let changes): updateProfile(connection, session, message.id, changes)
        case .createConversation(let participants):
            createConversation(connection, session, message.id, participants)
        case .typing(let conversation, let typing): type(connection, session, message.id, conversation, typing)
        case .setVisibility(let change): setVisibility(connection, session, message.id, change)
        case .getVisibility: getVisibility(connection, session, message.id)
        case .addContacts(let users): change(.contacts, connection, session, message.id, .init(add: users))
        case .removeContacts(let users): change(.contacts, connection, session, message.id, .init(remove: users))
        case .block(let users): change(.blocks, connection, session, message.id, .init(add: users))
        case .unblock(let users): change(.blocks, connection, session, message.id, .init(remove: users))
        case .disconnect:
            replies.now(on: connection) { [self] in
                replies.ok(message.id, to: connection)
                close(connection, .normal)
            }
        }
    }

    /// Answers with an error in its turn; the tenth `bad_request` closes.
    func refuse(_ error: ServerMessage.ErrorMessage, on connection: Connection) {
        replies.now(on: connection) { [self] in
            replies.error(error, to: connection)
            guard error.code == .badRequest else { return }
            connection.badRequests += 1
            if connection.badRequests >= configuration.limits.badRequests {
                close(connection, .policyViolation, reason: "too many bad requests")
            }
        }
    }

    // MARK: Connecting

    private func connect(_ connection: Connection, _ id: Int64?, _ connect: ClientMessage.Connect) {
        guard connection.session == nil else {
            return refuse(.init(id: id, code: .badRequest, message: "connected already"), on: connection)
        }
        guard let token = connect.token ?? connection.headerToken else {
            return turnAway(connection, id, "a token is needed")
        }
        switch verify(token, clock.redisNow) {
        case .failure(let failure): turnAway(connection, id, "\(failure)")
        case .success(let claims) where claims.isBackend:
            turnAway(connection, id, "a backend's token opens no session")
        case .success(let claims):
            connection.tokenExpiresAt = claims.expiresAt
            let reply = replies.expect(on: connection)
            sessions.open(connection, user: claims.subject, connect: connect) { [self] opening in
                replies.fulfil(reply, on: connection) { [self] in
                    answer(connection, id, opening)
                }
            }
        }
    }

    private func turnAway(_ connection: Connection, _ id: Int64?, _ message: String) {
        replies.now(on: connection) { [self] in
            replies.error(.init(id: id, code: .unauthorized, message: message), to: connection)
            close(connection, .unauthorized, reason: "unauthorized")
        }
    }

    private func answer(_ connection: Connection, _ id: Int64?, _ opening: Sessions.Opening) {
        guard !connection.isClosed, let session = connection.session else { return }
        var status: OwnStatus?
        switch opening {
        case .opened(let chosen): status = OwnStatus(chosen)
        case .unheard: status = session.user.chosen.map { OwnStatus($0) }
        case .refused(let message):
            replies.error(
                .init(id: id, code: .unavailable, message: "the store takes no session now", retryAfter: 1_000),
                to: connection)
            return refuse(connection, message)
        }
        var payload: [UInt8] = []
        ServerMessageWriter.connected(
            id: id,
            .init(
                user: session.user.id, session: session.id, serverTime: clock.redisNow, status: status,
                heartbeatInterval: configuration.heartbeat.interval, heartbeatTimeout: configuration.heartbeat.timeout,
                linger: configuration.linger, limits: connectionLimits),
            to: &payload)
        replies.send(payload, to: connection)
        connection.isGreeted = true
        if !link.isLive { connection.staleness = .stale }
        scheduleTokenCheck(connection)
    }

    // MARK: Tokens

    private func refresh(_ connection: Connection, _ id: Int64?, _ token: String) {
        switch verify(token, clock.redisNow) {
        case .success(let claims) where !claims.isBackend && claims.subject == connection.session?.user.id:
            connection.tokenExpiresAt = claims.expiresAt
            connection.tokenNoticeGiven = false
            replies.now(on: connection) { [self] in
                var payload: [UInt8] = []
                ServerMessageWriter.refreshed(id: id, to: &payload)
                replies.send(payload, to: connection)
                scheduleTokenCheck(connection)
            }
        case .success: refuse(.init(id: id, code: .unauthorized, message: "this token is another's"), on: connection)
        case .failure(let failure):
            refuse(.init(id: id, code: .unauthorized, message: "\(failure)"), on: connection)
        }
    }

    /// A token has come: its notice or end may fall due before anything else.
    private func scheduleTokenCheck(_ connection: Connection) {
        guard let due = checkToken(connection), due < connection.nextLook else { return }
        look(at: connection, due)
    }

    /// Gives notice when it is time, and closes at the end. Returns when to look again.
    func checkToken(_ connection: Connection) -> Milliseconds? {
        guard let expiresAt = connection.tokenExpiresAt else { return nil }
        let left = expiresAt - clock.redisNow
        let notice = configuration.tokenExpiringNotice
        if left <= 0 {
            close(connection, .tokenExpired, reason: "token expired")
            return nil
        }
        guard left <= notice else { return clock.now + left - notice }
        // Not before `connected`, which is the first thing that a client hears.
        if !connection.tokenNoticeGiven, connection.isGreeted {
            connection.tokenNoticeGiven = true
            var payload: [UInt8] = []
            ServerMessageWriter.tokenExpiring(expiresIn: left, to: &payload)
            replies.send(payload, to: connection)
        }
        return clock.now + left
    }

    // MARK: Status and profile

    private func choose(_ connection: Connection, _ session: Session, _ id: Int64?, _ change: StatusChange) {
        write(connection, id) { [self] done in
            sessions.choose(change, for: session.user, done: done)
        } succeeded: { [self] _ in
            replies.ok(id, to: connection)
        }
    }

    private func updateProfile(
        _ connection: Connection, _ session: Session, _ id: Int64?, _ changes: ProfileChanges
    ) {
        guard changes.hasKnownTimezone else {
            return refuse(ProfileChanges.unknownTimezone.with(id: id), on: connection)
        }
        write(connection, id) { [self] done in
            change(profileOf: session.user.id, changes, done: done)
        } succeeded: { [self] words in
            var payload: [UInt8] = []
            ServerMessageWriter.profileUpdated(id: id, profile: Self.profileObject(words), to: &payload)
            replies.send(payload, to: connection)
        }
    }

    func change(profileOf user: UserID, _ changes: ProfileChanges, done: @escaping StoreReply) {
        let keys = partitions.keys(of: user)
        store.run(
            .profile, keys: [keys.shards, keys.floor, keys.user(user)],
            arguments: [keys.events, link.incarnation, user.string] + changes.arguments, lane: .commands, reply: done)
    }

    /// The register of `OK, version, BODY`.
    static func profileObject(_ words: [RedisValue]) -> [UInt8] {
        guard words.count >= 3, let version = words[1].int, let body = words[2].bytes else { return Array("null".utf8) }
        return RegisterFrame.object(version: version, body: body).bytes
    }

    // MARK: Conversations

    private func createConversation(
        _ connection: Connection, _ session: Session, _ id: Int64?, _ others: [UserID]
    ) {
        let creator = session.user.id
        let participants = others.contains(creator) ? others : [creator] + others
        guard participants.count >= 2 else {
            return refuse(
                .init(
                    id: id, code: .validationFailed, message: "a conversation has at least 2 participants",
                    field: "participants"), on: connection)
        }
        guard participants.count <= configuration.limits.participants else {
            return refuse(
                .init(
                    id: id, code: .tooMany,
                    message: "at most \(configuration.limits.participants) participants in one conversation",
                    field: "participants"), on: connection)
        }
        let conversation = conversationID(near: creator)
        let keys = partitions.keys(of: creator)
        write(connection, id) { [self] done in
            store.run(
                .create, keys: [keys.shards, keys.conversation(conversation), keys.user(creator)],
                arguments: [link.incarnation, String(configuration.limits.conversationsPerUser)]
                    + participants.map(\.string),
                lane: .commands, reply: done)
        } succeeded: { [self] _ in
            var payload: [UInt8] = []
            ServerMessageWriter.conversationCreated(
                id: id, .init(id: conversation, participants: participants), to: &payload)
            replies.send(payload, to: connection)
        }
    }

    /// A random id in the partition of its creator, so that one script can count and create.
    private func conversationID(near creator: UserID) -> ConversationID {
        let partition = partitions.index(of: creator)
        while true {
            let id = ConversationID(randomName())!
            if partitions.index(of: id) == partition { return id }
        }
    }

    private func type(
        _ connection: Connection, _ session: Session, _ id: Int64?, _ conversation: ConversationID, _ isTyping: Bool
    ) {
        write(connection, id) { [self] done in
            typing.set(isTyping, in: conversation, by: session) { done($0 ?? .success(.array([.status("OK")]))) }
        } succeeded: { [self] _ in
            replies.ok(id, to: connection)
        }
    }

    // MARK: Writes

    /// Runs one script for a request and answers it: `succeeded` gets the words of an `OK`.
    func write(
        _ connection: Connection, _ id: Int64?, run: (@escaping StoreReply) -> Void,
        succeeded: @escaping ([RedisValue]) -> Void
    ) {
        guard link.isLive else {
            return refuse(WriteRefusal(.disconnected(sent: false)).message(id: id), on: connection)
        }
        let reply = replies.expect(on: connection)
        run { [self] result in
            replies.fulfil(reply, on: connection) { [self] in
                guard !connection.isClosed else { return }
                link.noticeFencing(in: result)
                if let refusal = WriteRefusal(result) {
                    if refusal.code == .internal {
                        log(
                            "internal error", ["session": connection.session?.id ?? "", "reason": "\(result)"],
                            level: .error)
                    }
                    replies.error(refusal.message(id: id), to: connection)
                } else if case .success(let value) = result {
                    succeeded(value.array ?? [])
                }
            }
        }
    }
}

/// Why a script's change was not made, or may not have been, as clients and backends are told.
struct WriteRefusal {
    let code: ErrorCode
    let text: String
    let retryAfter: Milliseconds?

    /// `nil` for an `OK`.
    init?(_ result: Result<RedisValue, RedisFailure>) {
        switch result {
        case .failure(let failure): self.init(failure)
        case .success(let value):
            switch value.array?.first?.string {
            case "OK": return nil
            case "FENCED": self.init(.disconnected(sent: false))
            case "FORBIDDEN": self.init(code: .forbidden, text: "only participants may do this", retryAfter: nil)
            case "TOOMANY":
                self.init(code: .tooMany, text: "no more conversations may be made by this user", retryAfter: nil)
            case "FULL": self.init(code: .tooMany, text: "no more users may be in this list", retryAfter: nil)
            case "CONFLICT": self.init(code: .conflict, text: "it exists already", retryAfter: nil)
            default: self.init(code: .internal, text: "the store gave an answer that makes no sense", retryAfter: nil)
            }
        }
    }

    /// What Redis says when it cannot do something now; anything else that it says is a fault of ours.
    private static let passing: Set<String> = [
        "OOM", "LOADING", "BUSY", "READONLY", "MASTERDOWN", "MISCONF", "NOREPLICAS", "TRYAGAIN", "CLUSTERDOWN",
    ]

    init(_ failure: RedisFailure) {
        if case .server(let code, _) = failure, !Self.passing.contains(code) {
            self.init(code: .internal, text: "the server could not do this", retryAfter: nil)
            return
        }
        let text =
            switch failure {
            case .server(code: "OOM", _): "the store is full: nothing was changed"
            case .server: "the store refused this for now: nothing was changed"
            case _ where failure.mayHaveRun:
                "the store was lost while this was under way: whether it was changed is unknown"
            default: "the store is out of reach: nothing was changed"
            }
        self.init(code: .unavailable, text: text, retryAfter: 1_000)
    }

    private init(code: ErrorCode, text: String, retryAfter: Milliseconds?) {
        self.code = code
        self.text = text
        self.retryAfter = retryAfter
    }

    func message(id: Int64?) -> ServerMessage.ErrorMessage {
        .init(id: id, code: code, message: text, retryAfter: retryAfter)
    }
}

extension ProfileChanges {
    /// The shape of a name is the protocol's business; whether there is such a zone, the host's data say.
    var hasKnownTimezone: Bool {
        if case .set(let name) = timezone { TimeZone(identifier: name) != nil } else { true }
    }

    static let unknownTimezone = ServerMessage.ErrorMessage(
        code: .validationFailed, message: "timezone must be the name of a time zone, such as Europe/Paris",
        field: "timezone")

    /// Pairs of member and encoded value, '' to remove, as the script takes them.
    var arguments: [String] {
        let members = [
            ("displayName", displayName), ("photoURL", photoURL), ("timezone", timezone), ("locale", locale),
        ]
        return members.flatMap { member, change -> [String] in
            switch change {
            case .keep: []
            case .remove: [member, ""]
            case .set(let value): [member, StatusArguments.encoded(value)]
            }
        }
    }
}

extension OwnStatus {
    init(_ chosen: LocalUser.Chosen?) {
        self.init()
        guard let chosen else { return }
        status = chosen.status
        text = chosen.plainText
        clearAt = chosen.clearAt
    }
}

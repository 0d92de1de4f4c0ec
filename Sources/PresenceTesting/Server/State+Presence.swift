import PresenceProtocol

// Users: who is here, their profiles, and who may see them (docs/protocol.md, sections 4 to 8 and 12).
extension InMemoryServer {
    /// A user of the server.
    struct UserRecord {
        var profile = ProfileRegister.none
        var presence = Presence.unknown
        /// Whether a session has set the presence, and not the test.
        var isFromSession = false
        var status = OwnStatus()
        var visibility = Visibility()
        var contacts: Set<UserID> = []
        var blocks: Set<UserID> = []

        var own: OwnVisibility { OwnVisibility(visibility: visibility, contacts: contacts.count, blocks: blocks.count) }

        func shows(_ audience: Audience, to viewer: UserID) -> Bool {
            guard !blocks.contains(viewer) else { return false }
            return audience == .everyone || audience == .contacts && contacts.contains(viewer)
        }

        func showsPresence(to viewer: UserID) -> Bool { shows(visibility.presence, to: viewer) }
        func showsLastSeen(to viewer: UserID) -> Bool {
            showsPresence(to: viewer) && shows(visibility.lastSeen, to: viewer)
        }
    }

    /// How long a session outlives its connection, and typing its last key, in milliseconds.
    static let linger: Milliseconds = 10_000
    static let typingTime: Milliseconds = 6_000
}

extension InMemoryServer.State {
    /// A user as another one sees them.
    func view(of user: UserID, by viewer: UserID) -> UserSnapshot {
        let subject = users[user] ?? .init()
        if user == viewer { return UserSnapshot(user: user, presence: subject.presence, profile: subject.profile) }
        guard subject.showsPresence(to: viewer) else {
            return UserSnapshot(user: user, presence: .unknown, profile: ProfileRegister.none)
        }
        let isMutual = subject.showsLastSeen(to: viewer) && (users[viewer] ?? .init()).showsLastSeen(to: user)
        let isHidden = subject.presence.status == .offline && !isMutual
        return UserSnapshot(user: user, presence: isHidden ? .unknown : subject.presence, profile: subject.profile)
    }

    // MARK: Sessions

    mutating func leave(_ number: Int, lingers: Bool) {
        guard let peer = peers.removeValue(forKey: number), peer.isConnected, let user = UserID(peer.user) else {
            return
        }
        if lingers {
            lingering.append(
                InMemoryServer.Lingering(user: user, device: peer.device, until: time + InMemoryServer.linger))
        } else {
            stopTyping(user)
        }
        refresh(user)
    }

    /// Ends what is over by the server's time.
    mutating func expire() {
        let over = lingering.filter { $0.until <= time }
        lingering.removeAll { $0.until <= time }
        for session in over {
            stopTyping(session.user)
            refresh(session.user)
        }
        for (id, talk) in talks where talk.typists.values.contains(where: { $0 <= time }) {
            talks[id]!.typists = talk.typists.filter { $0.value > now }
            talks[id]!.typingVersion += 1
        }
        for (user, account) in users where account.status.clearAt.map({ $0 <= time }) ?? false {
            users[user]!.status = OwnStatus()
            refresh(user)
        }
    }

    /// Computes a user's presence from their sessions. Without any, the test's value stays.
    mutating func refresh(_ user: UserID) {
        var account = users[user] ?? .init()
        defer { users[user] = account }
        let sessions = peers.values.filter { $0.isConnected && $0.user == user.string }
        let devices = sessions.map(\.device) + lingering.filter { $0.user == user }.map(\.device)
        guard !devices.isEmpty || account.isFromSession else { return }
        account.isFromSession = !devices.isEmpty
        let former = account.presence
        var newer = Presence(version: former.version, status: .offline)
        if !devices.isEmpty, account.status.status != .invisible {
            let isActive = sessions.contains { $0.activity == .active } || sessions.isEmpty
            newer.status = account.status.status == .busy ? .busy : isActive ? .online : .away
            newer.text = account.status.text
            newer.devices = Set(devices.map { $0?.kind ?? .other }).sorted()
        }
        guard (newer.status, newer.text, newer.devices) != (former.status, former.text, former.devices) else { return }
        newer.version = nextVersion()
        newer.since = newer.status == former.status ? former.since : tick()
        newer.lastSeen = newer.status == .offline ? now : nil
        account.presence = newer
    }

    // MARK: Requests

    /// - Throws: the error of the reply.
    mutating func presenceReplies(to bytes: [UInt8], _ number: Int) throws(Refusal) -> [[UInt8]] {
        let message: ClientMessage
        do throws(DecodingFailure) { message = try ClientMessage.decode(bytes) } catch { throw error.errorMessage }
        let me = UserID(peers[number]!.user)!
        let ok = message.id.map { [ServerMessage.ok(id: $0).encoded()] } ?? []
        switch message.body {
        case .connect(let connect): return [try self.connect(connect, message.id, number).encoded()]
        case .refresh: return [ServerMessage.refreshed(id: message.id).encoded()]
        case .subscribe(let subscribe): return try self.subscribe(subscribe, message.id!, number)
        case .unsubscribe(let users, let conversations, let list, let notifications):
            for user in users { peers[number]!.watched[user] = nil }
            for id in conversations.map(\.string) {
                (peers[number]!.typing[id], peers[number]!.follows[id]) = (nil, nil)
            }
            if list { peers[number]!.list = nil }
            if notifications { peers[number]!.noticed = nil }
            return [ServerMessage.unsubscribed(id: message.id).encoded()]
        case .get(let users):
            return [ServerMessage.users(id: message.id, users.map { view(of: $0, by: me) }, more: false).encoded()]
        case .status(let change):
            apply(change, to: me)
            return ok
        case .activity(let activity):
            peers[number]!.activity = activity
            refresh(me)
            return ok
        case .updateProfile(let changes):
            return [ServerMessage.profileUpdated(id: message.id, apply(changes, to: me)).encoded()]
        case .createConversation: return []
        case .typing(let conversation, let isTyping):
            type(isTyping, me, in: conversation.string)
            return ok
        case .disconnect:
            let peer = peers[number]!
            leave(number, lingers: false)
            outbox.append(InMemoryServer.Saying(peer: peer, bytes: nil))
            return []
        case .getVisibility:
            let account = users[me] ?? .init()
            let lists = VisibilityLists(
                visibility: account.visibility, contacts: account.contacts.sorted(), blocks: account.blocks.sorted())
            return [ServerMessage.visibility(id: message.id, lists, more: false).encoded()]
        case .setVisibility(let change):
            users[me, default: .init()].visibility.apply(change)
            return ok
        case .addContacts(let list):
            users[me, default: .init()].contacts.formUnion(list)
            return ok
        case .removeContacts(let list):
            users[me, default: .init()].contacts.subtract(list)
            return ok
        case .block(let list):
            users[me, default: .init()].blocks.formUnion(list)
            for user in list { end(user.string, in: me.string) }
            return ok
        case .unblock(let list):
            users[me, default: .init()].blocks.subtract(list)
            return ok
        }
    }

    private mutating func connect(
        _ connect: ClientMessage.Connect, _ id: Int64?, _ number: Int
    ) throws(Refusal) -> ServerMessage {
        guard let user = try user(of: connect.token ?? "") ?? UserID(peers[number]!.user) else {
            throw Refusal(code: .unauthorized, message: "the token names no user")
        }
        peers[number]!.user = user.string
        peers[number]!.grant = grant(of: connect.token ?? "")
        peers[number]!.isConnected = true
        peers[number]!.device = connect.device
        peers[number]!.activity = connect.activity
        lingering.removeAll { $0.user == user && $0.device?.id == connect.device?.id }
        if let status = connect.status { apply(status, to: user) }
        refresh(user)
        peers[number]!.ownStatus = users[user]!.status
        return .connected(
            id: id,
            .init(
                user: user, session: "s\(number)", serverTime: now, status: users[user]!.status,
                heartbeatInterval: 20_000, heartbeatTimeout: 10_000, linger: InMemoryServer.linger,
                limits: ConnectionLimits()))
    }

    private mutating func apply(_ change: StatusChange, to user: UserID) {
        var status = users[user]?.status ?? OwnStatus()
        status.status = change.status
        switch change.text {
        case .keep: break
        case .remove, .set(""): status.text = nil
        case .set(let text): status.text = text
        }
        status.clearAt = change.clearAfter.map { time + $0 }
        users[user, default: .init()].status = status
        refresh(user)
    }

    @discardableResult
    mutating func apply(_ changes: ProfileChanges, to user: UserID) -> Profile {
        var profile = Profile(version: 0, createdAt: now)
        if case .profile(let former)? = users[user]?.profile { profile = former }
        func change(_ change: Change<String>, _ member: WritableKeyPath<Profile, String?>) {
            switch change {
            case .keep: break
            case .remove: profile[keyPath: member] = nil
            case .set(let value): profile[keyPath: member] = value
            }
        }
        change(changes.displayName, \.displayName)
        change(changes.photoURL, \.photoURL)
        change(changes.timezone, \.timezone)
        change(changes.locale, \.locale)
        if changes.photoURL != .keep { profile.thumbnailURL = nil }
        profile.version = nextVersion()
        profile.updatedAt = tick()
        users[user, default: .init()].profile = .profile(profile)
        return profile
    }

    private mutating func type(_ isTyping: Bool, _ user: UserID, in talk: String) {
        let former = talks[talk]!.typists.removeValue(forKey: user)
        if isTyping { talks[talk]!.typists[user] = time + InMemoryServer.typingTime }
        if (former != nil) != isTyping { talks[talk]!.typingVersion += 1 }
    }

    private mutating func stopTyping(_ user: UserID) {
        guard !peers.values.contains(where: { $0.isConnected && $0.user == user.string }) else { return }
        for id in talks.keys where talks[id]!.typists[user] != nil { type(false, user, in: id) }
    }

    // MARK: Events

    mutating func flushPresence(_ number: Int) {
        let me = UserID(peers[number]!.user)!
        let account = users[me] ?? .init()
        if peers[number]!.isStale != isStale {
            peers[number]!.isStale = isStale
            send(isStale ? .stale(since: now) : .live, to: peers[number]!)
        }
        if peers[number]!.ownStatus != account.status {
            peers[number]!.ownStatus = account.status
            send(.ownStatus(account.status), to: peers[number]!)
        }
        if peers[number]!.ownVisibility != account.own {
            peers[number]!.ownVisibility = account.own
            send(.ownVisibility(account.own), to: peers[number]!)
        }
        if let version = accounts[me.string]?.version, peers[number]!.ownAccount != version {
            peers[number]!.ownAccount = version
            send(
                ["type": "ownAccount", "account": self.account(me.string), "version": Int(version)], to: peers[number]!)
        }
        guard peers[number]!.activity != .background else { return }
        for (user, known) in peers[number]!.watched.sorted(by: { $0.key < $1.key }) {
            let view = view(of: user, by: me)
            if known.presence != view.presence!.version {
                send(.presence(user: user, view.presence!, at: now), to: peers[number]!)
            }
            if known.profile != view.profile!.version {
                send(.profile(user: user, view.profile!, at: now), to: peers[number]!)
            }
            peers[number]!.watched[user] = view.versions
        }
    }
}

extension UserSnapshot {
    var versions: ClientMessage.KnownVersions {
        ClientMessage.KnownVersions(presence: presence?.version, profile: profile?.version)
    }
}

extension ProfileRegister {
    var version: Int64 {
        switch self {
        case .none: 0
        case .profile(let profile): profile.version
        }
    }
}

extension Visibility {
    fileprivate mutating func apply(_ change: VisibilityChange) {
        if let presence = change.presence { self.presence = presence }
        if let lastSeen = change.lastSeen { self.lastSeen = lastSeen }
        if let receipts = change.receipts { self.receipts = receipts }
        if let findable = change.findable { self.findable = findable }
        if let conversationsFrom = change.conversationsFrom { self.conversationsFrom = conversationsFrom }
    }
}

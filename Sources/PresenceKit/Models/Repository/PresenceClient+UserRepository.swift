import Foundation

/// Users of a presence server: profile and presence. Members that belong to accounts (e-mail, preferred language, push
/// token) are `nil`.
extension PresenceClient: UserRepository {
    public func user(_ id: User.ID) async throws -> User {
        do {
            guard let person = try await person(id) else { throw PresenceError.userNotFound(id) }
            return User(person)
        } catch let error as PresenceError where error.code != .notFound {
            throw PresenceError(reading: error, id)
        }
    }

    public func users(_ ids: [User.ID]) async throws -> Users {
        do {
            // A malformed id counts as missing, so that the other users are still returned.
            let people = try await people(ids.filter(PresenceClient.isValidID))
            var seen: Set<String> = []
            let missing = Set(people.missing)
            return Users(
                people.map(User.init),
                missing: ids.filter {
                    seen.insert($0).inserted && (missing.contains($0) || !PresenceClient.isValidID($0))
                },
                isStale: people.problem != nil)
        } catch let error as PresenceError {
            throw error.whileReading
        }
    }

    public func userUpdates(of id: User.ID) -> AsyncStream<User> {
        found(id) { User($0) }
    }

    public func userStates(of id: User.ID) -> AsyncStream<User.State> {
        found(id) { User.State(user: User($0), isStale: $0.freshness != .live, isFound: $0.isFound) }
    }

    /// Observes a user once they are found, or the server or the id itself shows that they are not.
    private func found<Element: Sendable>(
        _ id: User.ID, _ transform: @escaping @Sendable (Person) -> Element
    ) -> AsyncStream<Element> {
        let people = updates(of: id)
        return AsyncStream { elements in
            var isKnown = false
            for await person in people {
                isKnown = isKnown || person.isFound || person.freshness.isLive || person.problem?.code == .invalidID
                if isKnown { elements.yield(transform(person)) }
            }
        }
    }

    public var updateRefusals: AsyncStream<PresenceError> {
        let pending = pendingProfileUpdates
        // The client itself keeps only the newest one.
        return AsyncStream(newest: 16) { elements in
            var last: PresenceError?
            for await pending in pending where pending.refusal != last {
                last = pending.refusal
                if let last { elements.yield(PresenceError(writing: last)) }
            }
        }
    }

    /// Whether profile changes are queued, or still in the storage.
    public var pendingUpdates: AsyncStream<Bool> {
        // Equal values are yielded too: a change may have been queued and made between them.
        stream(of: pendingProfileUpdates) { $0.waiting != nil }
    }

    @discardableResult
    public func update(_ changes: ProfileChanges) async throws -> ProfileUpdate<User> {
        do {
            switch try await updateProfile(changes, offline: .queue) {
            case .queued: return .queued
            case .saved(let profile):
                // The reply has no presence, so it is requested. As a fallback, the user is online, because this device
                // just saved.
                let me = try? await person(profile.user)
                let presence =
                    me?.presence ?? PersonPresence(user: profile.user, status: .online, freshness: profile.freshness)
                return .saved(User(Person(presence: presence, profile: profile)))
            }
        } catch let error as PresenceError {
            throw PresenceError(writing: error)
        }
    }

    public func onlineUpdates(of id: User.ID) -> AsyncStream<Bool> {
        let presences = presence(of: id)
        return AsyncStream { elements in
            var last: Bool?
            for await presence in presences where presence.isOnline != last {
                last = presence.isOnline
                elements.yield(presence.isOnline)
            }
        }
    }

    /// Online follows the devices; offline is invisible, for all devices, while this one stays connected.
    public func setOnline(_ isOnline: Bool) async throws {
        do {
            try await setStatus(isOnline ? .auto : .invisible)
        } catch let error as PresenceError {
            throw PresenceError(writing: error)
        }
    }

    /// The newest values; a slow loop misses intermediate ones.
    private func stream<Source: Sendable, Element: Sendable>(
        of updates: PresenceUpdates<Source>, _ transform: @escaping @Sendable (Source) -> Element
    ) -> AsyncStream<Element> {
        AsyncStream { elements in
            for await update in updates { elements.yield(transform(update)) }
        }
    }
}

extension User {
    /// Creates a user from presence and profile. A missing display name is empty; members that a presence server does
    /// not have are `nil`.
    public init(_ person: Person) {
        let presence = person.presence
        let profile = person.profile
        self.init(
            id: person.user, displayName: person.displayName ?? "", username: profile.username,
            profileImageURL: profile.photoURL, timezone: profile.timezone, locale: profile.locale,
            isOnline: person.isOnline,
            lastSeen: presence.lastSeen ?? presence.since ?? .distantPast, createdAt: profile.createdAt ?? .distantPast)
    }
}

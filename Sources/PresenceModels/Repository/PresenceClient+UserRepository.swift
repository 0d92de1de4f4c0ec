import Foundation
import PresenceDomain
import PresenceKit

/// Users as a presence server knows them: a profile and a presence. What belongs to accounts (e-mail, username, preferred
/// language, push token) is not there.
extension PresenceClient: UserRepository {
    public func user(_ id: User.ID) async throws -> User {
        do {
            guard let person = try await person(id) else { throw UserError.userNotFound(id) }
            return User(person)
        } catch let error as PresenceError {
            throw UserError(reading: error, id)
        }
    }

    public func users(_ ids: [User.ID]) async throws -> Users {
        do {
            // A malformed id is nobody's, and no reason to show none of the others.
            let people = try await people(ids.filter(PresenceID.isValid))
            var seen: Set<String> = []
            let missing = Set(people.missing)
            return Users(
                people.map(User.init),
                missing: ids.filter { seen.insert($0).inserted && (missing.contains($0) || !PresenceID.isValid($0)) },
                isStale: people.problem != nil)
        } catch let error as PresenceError {
            throw UserError.fetchFailed(reason: error.localizedDescription)
        }
    }

    public func userUpdates(of id: User.ID) -> AsyncStream<User> {
        found(id) { User($0) }
    }

    public func userStates(of id: User.ID) -> AsyncStream<UserState> {
        found(id) { UserState(user: User($0), isStale: $0.freshness != .live) }
    }

    /// Somebody from when they are found on, then also when they are not found any more.
    private func found<Element: Sendable>(
        _ id: User.ID, _ transform: @escaping @Sendable (Person) -> Element
    ) -> AsyncStream<Element> {
        let people = updates(of: id)
        return AsyncStream { elements in
            var wasFound = false
            for await person in people {
                wasFound = wasFound || person.isFound
                if wasFound { elements.yield(transform(person)) }
            }
        }
    }

    public var updateRefusals: AsyncStream<UserError> {
        let pending = pendingProfileUpdates
        // The client itself holds only the newest one.
        return AsyncStream(newest: 16) { elements in
            var last: PresenceError?
            for await pending in pending where pending.refusal != last {
                last = pending.refusal
                if let last { elements.yield(UserError(writing: last)) }
            }
        }
    }

    /// Whether profile changes wait for a connection, or to be taken out of the storage.
    public var pendingUpdates: AsyncStream<Bool> {
        // Also where two follow that are alike: between them something may have waited and been done.
        stream(of: pendingProfileUpdates) { $0.waiting != nil }
    }

    @discardableResult
    public func update(_ changes: UserChanges) async throws -> UserUpdate {
        do {
            switch try await updateProfile(ProfileChanges(changes), offline: .queue) {
            case .queued: return .queued
            case .saved(let profile):
                // The answer has no presence: it is asked for, and a device that saved something is here.
                let me = try? await person(profile.user)
                let presence =
                    me?.presence ?? PersonPresence(user: profile.user, status: .online, freshness: profile.freshness)
                return .saved(User(Person(presence: presence, profile: profile)))
            }
        } catch let error as PresenceError {
            throw UserError(writing: error)
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

    /// Online is what the devices do; gone is invisible, on all devices, while this one stays connected.
    public func setOnline(_ isOnline: Bool) async throws {
        do {
            try await setStatus(isOnline ? .auto : .invisible)
        } catch let error as PresenceError {
            throw UserError(writing: error)
        }
    }

    /// The newest values: a slow loop misses those between.
    private func stream<Source: Sendable, Element: Sendable>(
        of updates: PresenceUpdates<Source>, _ transform: @escaping @Sendable (Source) -> Element
    ) -> AsyncStream<Element> {
        AsyncStream { elements in
            for await update in updates { elements.yield(transform(update)) }
        }
    }
}

extension User {
    /// A person as a user. Without a display name it is empty; what a presence server does not know is `nil`.
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

extension ProfileChanges {
    /// The same change in the words of a presence server.
    public init(_ changes: UserChanges) {
        func change<Value>(_ value: Value??) -> Change<Value> {
            value.map { inner in inner.map { .set($0) } ?? .remove } ?? .keep
        }
        self.init(
            displayName: changes.displayName.map { .set($0) } ?? .keep, photoURL: change(changes.profileImageURL),
            timezone: change(changes.timezone), locale: change(changes.locale))
    }
}

extension UserError {
    init(reading error: PresenceError, _ id: String) {
        self = error.code == .invalidID ? .userNotFound(id) : .fetchFailed(reason: error.localizedDescription)
    }

    init(writing error: PresenceError) {
        if error.code == .validationFailed, let field = error.field {
            self = .invalid(field: field, reason: error.localizedDescription)
        } else {
            self = .updateFailed(reason: error.localizedDescription, outcomeUnknown: error.outcomeUnknown)
        }
    }
}

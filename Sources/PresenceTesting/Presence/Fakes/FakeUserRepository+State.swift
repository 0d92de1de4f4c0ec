import Foundation
import PresenceKit

// The fake's behaviour behind its calls.
extension FakeUserRepository {
    static let noConnection = "There is no connection to the server."

    /// Waits or fails as the test has set.
    func waitOrFail() async throws {
        let (delay, failure) = lock.withLock { (state.delay, state.failure) }
        if let delay { try await clock.sleep(for: delay) }
        try Task.checkCancellation()
        if let failure { throw failure }
    }

    /// The same for a call that cannot be made offline.
    func waitOrFailOnline() async throws {
        try await waitOrFail()
        if isOffline { throw PresenceError.updateFailed(reason: Self.noConnection, outcomeUnknown: false) }
    }

    /// - Throws: for values that the server never accepts.
    static func check(_ changes: ProfileChanges) throws {
        if let name = changes.displayName.value, DisplayNameRule.fault(in: name) != nil {
            throw PresenceError.invalid(field: "displayName", reason: "This name cannot be used.")
        }
        if let url = changes.photoURL.value {
            let isLocal = url.scheme == "http" && ["localhost", "127.0.0.1", "::1"].contains(url.host ?? "")
            guard url.scheme?.lowercased() == "https" && url.host?.isEmpty == false || isLocal else {
                throw PresenceError.invalid(field: "photoURL", reason: "This picture cannot be used.")
            }
        }
    }

    /// Makes a change as the server would.
    @discardableResult
    func make(_ changes: ProfileChanges) -> User {
        var user = lock.withLock { state.users[me] } ?? User(id: me, displayName: "")
        changes.apply(to: &user)
        set(user)
        return user
    }

    func makeOnline(_ isOnline: Bool) {
        guard var user = lock.withLock({ state.users[me] }) else { return }
        user.isOnline = isOnline
        set(user)
    }

    /// With the lock held: a user as loops see them; `nil` if only the server knows.
    func shown(_ id: String) -> UserState? {
        if let user = state.users[id] { return UserState(user: user, isStale: state.isOffline) }
        guard !state.isOffline else { return nil }
        let unknown = User(id: id, displayName: "", lastSeen: .distantPast, createdAt: .distantPast)
        return UserState(user: unknown, isFound: false)
    }

    func feed(of id: String) -> Feed<UserState> {
        lock.withLock {
            let feed = state.feeds[id] ?? Feed(shown(id))
            state.feeds[id] = feed
            return feed
        }
    }

    /// The newest values; a slow loop misses intermediate ones.
    func stream<Value: Sendable, Element: Sendable>(
        of feed: Feed<Value>, _ transform: @escaping @Sendable (Value) -> Element
    ) -> AsyncStream<Element> {
        AsyncStream { elements in
            for await value in feed.updates { elements.yield(transform(value)) }
        }
    }
}

extension ProfileChanges {
    /// The newer value of each member.
    func merged(with newer: ProfileChanges) -> ProfileChanges {
        func merged<Value>(_ path: KeyPath<ProfileChanges, Change<Value>>) -> Change<Value> {
            newer[keyPath: path] == .keep ? self[keyPath: path] : newer[keyPath: path]
        }
        return ProfileChanges(
            displayName: merged(\.displayName), photoURL: merged(\.photoURL), timezone: merged(\.timezone),
            locale: merged(\.locale))
    }

    /// Changes a user as the server would. A name cannot be removed.
    func apply(to user: inout User) {
        if let name = displayName.value { user.displayName = DisplayNameRule.trimmed(name) }
        if photoURL != .keep { user.profileImageURL = photoURL.value }
        if timezone != .keep { user.timezone = timezone.value }
        if locale != .keep { user.locale = locale.value }
    }
}

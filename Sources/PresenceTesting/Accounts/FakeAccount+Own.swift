import Foundation
import PresenceAccounts
import PresenceKit

// The account of the signed-in user.
extension FakeAccount {
    public func currentUser() async throws -> User {
        try await record(.currentUser, isLocal: currentAccount?.displayName != nil)
        return try change { $0.read() }.user
    }

    @discardableResult
    public func update(
        _ changes: ProfileChanges, preferredLanguage: Change<String>, setupCompleted: Bool?
    ) async throws -> User {
        try await record(.update(changes, preferredLanguage: preferredLanguage, setupCompleted: setupCompleted))
        if let name = changes.displayName.value, DisplayNameRule.fault(in: name) != nil {
            throw PresenceError.account(.validationFailed, field: "displayName")
        }
        return try change {
            changes.apply(to: &$0.user)
            if preferredLanguage != .keep {
                $0.user.preferredLanguage = preferredLanguage.value
                $0.account.preferredLanguage = preferredLanguage.value
            }
            if let setupCompleted { $0.account.setupCompleted = setupCompleted }
            $0.read()
        }.user
    }

    public func changePassword(from password: String, to newPassword: String) async throws {
        try await record(.changePassword)
        try check(password)
        try lock.withLock { try check(newPassword: newPassword, field: "newPassword") }
        try change { $0.password = newPassword }
        otherSessions = []
    }

    /// The mail is added to ``mails``; the address changes when its token is passed to ``verifyEmail(token:)``.
    public func changeEmail(to email: String, password: String) async throws {
        try await record(.changeEmail(email))
        try check(password)
        let id = try own().account.id
        try lock.withLock {
            if let email = try checked(email: email) { mail(toNew: email, of: id) }
        }
    }

    public func deleteAccount(password: String) async throws {
        try await record(.deleteAccount)
        try check(password)
        let id = try own().account.id
        lock.withLock { state.records[id] = nil }
        set(.signedOut(.accountDeleted))
    }

    public func sessions() async throws -> [AccountSession] {
        try await record(.sessions)
        let account = try own().account
        let this = AccountSession(
            id: "current", kind: "other", createdAt: account.createdAt, lastUsedAt: account.createdAt, isCurrent: true)
        return [this] + otherSessions
    }

    public func availability(ofUsername username: String) async throws -> UsernameAvailability {
        try await record(.availability(username))
        return lock.withLock { availability(of: username, for: state.current) }
    }

    public func user(named username: String) async throws -> User? {
        try await record(.userNamed(username))
        _ = try own()
        let found = lock.withLock {
            state.records.values.first { $0.account.username?.lowercased() == username.lowercased() }?.user
        }
        guard var user = found else { return nil }
        (user.email, user.preferredLanguage, user.isOnline) = (nil, nil, false)
        return user
    }

    @discardableResult
    public func claimUsername(_ username: String) async throws -> Account {
        try await record(.claimUsername(username))
        let id = try own().account.id
        try lock.withLock { try check(username, of: id) }
        return try change {
            $0.account.username = username
            $0.user.username = username
        }.account
    }

    public func releaseUsername() async throws {
        try await record(.releaseUsername)
        try change {
            $0.account.username = nil
            $0.user.username = nil
        }
    }

    /// Yields a progress of 0.5, takes ``delay``, and saves the picture as `https://example.org/photo-N.jpg`. Pictures
    /// that violate `PhotoRule` are rejected before the call is recorded.
    public func uploadPhoto(_ picture: Data) -> AsyncThrowingStream<Upload<Photo>, any Error> {
        AsyncThrowingStream { elements in
            do {
                _ = try PhotoRule.checkedType(of: picture)
            } catch let error as PresenceError {
                throw error.invalidating("photo")
            }
            elements.yield(.progress(0.5))
            try await self.record(.uploadPhoto(bytes: picture.count))
            let number = self.calls.count
            let url = URL(string: "https://example.org/photo-\(number).jpg")!
            try self.change { $0.user.profileImageURL = url }
            elements.yield(.progress(1))
            elements.yield(.saved(Photo(url: url)))
        }
    }

    public func removePhoto() async throws {
        try await record(.removePhoto)
        try change { $0.user.profileImageURL = nil }
    }

    // MARK: Shared parts

    func record(_ call: Call, isLocal: Bool = false) async throws {
        let (delay, failure) = lock.withLock {
            state.calls.append(call)
            let index = state.failures.firstIndex { $0.matches(call) }
            return (state.delay, index.map { state.failures.remove(at: $0).error })
        }
        if let delay { try await clock.sleep(for: delay) }
        try Task.checkCancellation()
        if let failure { throw failure }
        if isOffline, !isLocal { throw PresenceError.account(.notConnected) }
    }

    private func own() throws -> Record {
        try lock.withLock {
            guard let record = state.current.flatMap({ state.records[$0] }) else {
                throw PresenceError.account(.notSignedIn)
            }
            return record
        }
    }

    private func check(_ password: String) throws {
        guard try own().password == password else {
            throw PresenceError.account(.unauthorized, reason: .invalidCredentials, field: "password")
        }
    }

    @discardableResult
    private func change(_ body: (inout Record) -> Void) throws -> Record {
        let record = try lock.withLock {
            guard let id = state.current, var record = state.records[id] else {
                throw PresenceError.account(.notSignedIn)
            }
            body(&record)
            state.records[id] = record
            return record
        }
        publish()
        return record
    }

    func publish() {
        let account = lock.withLock { state.current.flatMap { state.records[$0]?.account } }
        if let account { publish(.signedIn(account, .live)) }
    }

    /// Sends the state to the loops, if it changed.
    func publish(_ newer: AuthState) {
        if feed.value != newer { feed.send(newer) }
    }
}

import Foundation
import PresenceKit

// The parts of accounts: username, picture, first form.
extension FakeUserRepository: ProfileRepository {
    public var ownUsernames: AsyncStream<String?> {
        stream(of: feed(of: me)) { $0.user.username }
    }

    /// With the lock held: whether another user has the name, or it is reserved.
    private func isTaken(_ username: String) -> Bool {
        let name = username.lowercased()
        return state.takenUsernames.contains { $0.lowercased() == name }
            || state.users.values.contains { $0.id != me && $0.username?.lowercased() == name }
    }

    public func isAvailable(_ username: String) async throws -> Bool {
        lock.withLock { state.usernameChecks.append(username) }
        try await waitOrFailOnline()
        return UsernameRule.fault(in: username) == nil && !lock.withLock { isTaken(username) }
    }

    public func take(_ username: String) async throws {
        try await waitOrFailOnline()
        if let fault = UsernameRule.fault(in: username) {
            throw PresenceError.invalid(field: "username", reason: fault)
        }
        guard !lock.withLock({ isTaken(username) }) else {
            throw PresenceError.invalid(field: "username", reason: "This username is already taken.")
        }
        if var user = lock.withLock({ state.users[me] }) {
            user.username = username
            set(user)
        }
    }

    public func release() async throws {
        try await waitOrFailOnline()
        if var user = lock.withLock({ state.users[me] }) {
            user.username = nil
            set(user)
        }
    }

    /// Yields a progress of 0.47, takes ``delay``, and saves the picture as `https://example.org/photo-N.jpg`. Pictures
    /// that violate `PhotoRule` are rejected and not listed in ``uploads``.
    public func uploadPhoto(_ picture: Data) -> AsyncThrowingStream<Upload<Photo>, any Error> {
        if let fault = PhotoRule.fault(in: picture) {
            return AsyncThrowingStream { $0.finish(throwing: PresenceError.invalid(field: "photo", reason: fault)) }
        }
        let number = lock.withLock {
            state.uploads.append(picture)
            return state.uploads.count
        }
        return AsyncThrowingStream { elements in
            elements.yield(.progress(0.47))
            try await self.waitOrFailOnline()
            let photo = Photo(
                url: URL(string: "https://example.org/photo-\(number).jpg")!,
                thumbnailURL: URL(string: "https://example.org/photo-\(number)-small.jpg")!)
            if var user = self.lock.withLock({ self.state.users[self.me] }) {
                user.profileImageURL = photo.url
                self.set(user)
            }
            elements.yield(.progress(1))
            elements.yield(.saved(photo))
        }
    }

    public func removePhoto() async throws {
        try await waitOrFailOnline()
        if var user = lock.withLock({ state.users[me] }) {
            user.profileImageURL = nil
            set(user)
        }
    }

    public func completeSetup() async throws {
        try await waitOrFailOnline()
        lock.withLock { state.setupsCompleted += 1 }
    }
}

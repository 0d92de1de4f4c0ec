import Foundation
import PresenceDomain

// What belongs to accounts: the username, the picture, the first form.
extension FakeUserRepository: UsernameRepository, PhotoRepository, SetupRepository {
    public var ownUsernames: AsyncStream<String?> {
        let feed = lock.withLock {
            let feed = state.feeds[me] ?? Feed(state.users[me])
            state.feeds[me] = feed
            return feed
        }
        return stream(of: feed) { $0.username }
    }

    public func isAvailable(_ username: String) async throws -> Bool {
        lock.withLock { state.usernameChecks.append(username) }
        try await answer()
        return !takenUsernames.contains(username.lowercased())
    }

    public func take(_ username: String) async throws {
        try await answer()
        guard !takenUsernames.contains(username.lowercased()) else {
            throw UserError.invalid(field: "username", reason: "This username is already taken.")
        }
        if var user = lock.withLock({ state.users[me] }) {
            user.username = username
            set(user)
        }
    }

    public func release() async throws {
        try await answer()
        if var user = lock.withLock({ state.users[me] }) {
            user.username = nil
            set(user)
        }
    }

    /// Tells of half of the picture, takes ``delay``, and saves it as `https://example.org/photo-N.jpg`.
    public func uploadPhoto(_ picture: Data) -> AsyncThrowingStream<PhotoUpload, any Error> {
        let number = lock.withLock {
            state.uploads.append(picture)
            return state.uploads.count
        }
        let (stream, elements) = AsyncThrowingStream.makeStream(of: PhotoUpload.self)
        let task = Task {
            do {
                elements.yield(.progress(0.47))
                try await answer()
                let photo = Photo(
                    url: URL(string: "https://example.org/photo-\(number).jpg")!,
                    thumbnailURL: URL(string: "https://example.org/photo-\(number)-small.jpg")!)
                if var user = lock.withLock({ state.users[me] }) {
                    user.profileImageURL = photo.url
                    set(user)
                }
                elements.yield(.progress(1))
                elements.yield(.saved(photo))
                elements.finish()
            } catch {
                elements.finish(throwing: error)
            }
        }
        elements.onTermination = { _ in task.cancel() }
        return stream
    }

    public func removePhoto() async throws {
        try await answer()
        if var user = lock.withLock({ state.users[me] }) {
            user.profileImageURL = nil
            set(user)
        }
    }

    public func completeSetup() async throws {
        try await answer()
        lock.withLock { state.setupsCompleted += 1 }
    }
}

import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

/// A profile that is saved without a connection: the form shows that it is queued, and the outcome.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ProfileQueueTests {
    private let users = ScriptedUsers([User(id: "me", displayName: "Ana", lastSeen: .inTests, createdAt: .inTests)]
    )

    /// The same users, without events.
    private struct SilentUsers: UserRepository {
        let users: ScriptedUsers
        /// Called between a change and its result.
        var afterUpdate: @Sendable () -> Void = {}

        func user(_ id: User.ID) async throws -> User { try await users.user(id) }
        func users(_ ids: [User.ID]) async throws -> Users { try await users.users(ids) }
        func userUpdates(of id: User.ID) -> AsyncStream<User> {
            AsyncStream { $0.yield(User(id: id, displayName: "Ana", lastSeen: .inTests, createdAt: .inTests)) }
        }
        var pendingUpdates: AsyncStream<Bool> { users.pendingUpdates }
        func update(_ changes: ProfileChanges) async throws -> ProfileUpdate<User> {
            defer { afterUpdate() }
            return try await users.update(changes)
        }
        func onlineUpdates(of id: User.ID) -> AsyncStream<Bool> { users.onlineUpdates(of: id) }
        func setOnline(_ isOnline: Bool) async throws { try await users.setOnline(isOnline) }
    }

    private func opened(_ repository: any UserRepository) async -> (model: ProfileModel, run: Task<Void, Never>) {
        let model = ProfileModel(user: "me", users: repository)
        let run = Task { await model.run() }
        await until { model.displayName == "Ana" }
        users.isOffline = true
        return (model, run)
    }

    @Test func `what was queued is done with the next connection, which is told`() async {
        let (model, run) = await opened(users)
        model.displayName = "Ana Silva"
        await model.save()
        expect(model.isQueued && !model.hasChanges)
        users.isOffline = false
        await until { !model.isQueued }
        expect(model.showSuccess && !model.showError && model.displayName == "Ana Silva" && !model.hasChanges)
        run.cancel()
    }

    @Test func `a later change by another device is shown once nothing is queued`() async {
        let (model, run) = await opened(SilentUsers(users: users))
        model.displayName = "Ana Silva"
        await model.save()
        expect(model.isQueued)
        users.delay = .seconds(1)
        users.isOffline = false
        await users.clock.sleepers()
        users.set(User(id: "me", displayName: "Elsewhere"))
        users.clock.advance(by: .seconds(1))
        await until { model.displayName == "Elsewhere" }
        expect(!model.isQueued && !model.hasChanges)
        run.cancel()
    }

    @Test func `a change that was made before it was reported as queued is not queued`() async {
        let (model, run) = await opened(SilentUsers(users: users) { [users] in users.isOffline = false })
        model.displayName = "Ana Silva"
        await model.save()
        expect(!model.isQueued && model.showSuccess && model.displayName == "Ana Silva" && !model.hasChanges)
        run.cancel()
    }

    @Test func `a rejected part is restored, and the rest stays queued`() async {
        let (model, run) = await opened(users)
        let picture = URL(string: "https://example.org/a.jpg")
        model.displayName = "Ana Silva"
        model.photoURL = picture
        await model.save()
        users.refuse(.invalid(field: "displayName", reason: "This name cannot be used."))
        await until { model.errorMessage == "This name cannot be used." }
        expect(model.isQueued && model.displayName == "Ana" && model.photoURL == picture)
        users.isOffline = false
        await until { !model.isQueued }
        expect(model.photoURL == picture && !model.hasChanges && !model.showSuccess && model.showError)
        run.cancel()
    }
}

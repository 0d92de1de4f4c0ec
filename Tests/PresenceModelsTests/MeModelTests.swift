import PresenceKit
import PresenceTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(1))) struct MeModelTests {
    private let presence = FakePresence(user: "ana")

    @Test func `the user's status is chosen and shown`() async {
        let model = MeModel(presence)
        let run = Task { await model.run() }
        await until { model.me.user == "ana" }
        await model.choose(.busy, text: "lunch")
        await until { model.me.status?.status == .busy && model.me.status?.text == "lunch" }
        await model.choose(.auto, text: "")
        await until { model.me.status?.status == .auto && model.me.status?.text == nil }
        #expect(presence.calls == [.setStatus(.busy, "lunch", nil), .setStatus(.auto, .remove, nil)])
        run.cancel()
    }

    @Test func `a rejected choice shows an error in plain language, cleared by the next choice`() async {
        let model = MeModel(presence)
        presence.fail(with: PresenceError(.validationFailed, "text must be at most 140 characters", field: "text"))
        await model.choose(.busy, text: "x")
        #expect(model.errorMessage == "This text cannot be used.")
        presence.fail(with: CancellationError())
        await model.choose(.busy)
        #expect(model.errorMessage == nil)
    }

    @Test func `a choice that is being saved is shown as such`() async {
        let model = MeModel(presence)
        presence.hold()
        let choice = Task { await model.choose(.invisible) }
        await until { model.isSaving }
        presence.release()
        await choice.value
        #expect(!model.isSaving)
    }

    @Test func `a status that is chosen offline is shown as queued`() async {
        let model = MeModel(presence)
        let run = Task { await model.run() }
        await until { model.me.user == "ana" }
        presence.goOffline()
        await model.choose(.busy)
        await until { model.isStatusQueued }
        #expect(model.errorMessage == nil)
        presence.goOnline()
        await until { !model.isStatusQueued && model.me.status?.status == .busy }
        await model.choose(.auto, clearAfter: .zero)
        #expect(model.errorMessage == "This time cannot be used.")
        run.cancel()
    }

    @Test func `a status is queued until it is made or rejected, whatever another device chooses`() async {
        let model = MeModel(presence)
        let run = Task { await model.run() }
        await until { model.me.user == "ana" }
        presence.goOffline()
        await model.choose(.busy)
        await until { model.isStatusQueued }
        presence.goOnline()
        presence.set(Me(user: "ana", status: MyStatus(status: .invisible, freshness: .live)))
        await until { !model.isStatusQueued && model.me.status?.status == .invisible }
        #expect(model.errorMessage == nil)

        presence.goOffline()
        await model.choose(.busy, text: "lunch")
        await until { model.isStatusQueued }
        let refusal = PresenceError(.validationFailed, "no", field: "text")
        presence.set(
            Me(user: "ana", status: MyStatus(status: .auto, freshness: .live), statusRefusal: refusal))
        await until { !model.isStatusQueued && model.errorMessage != nil }
        #expect(model.errorMessage == "This text cannot be used.")
        run.cancel()
    }

    @Test func `pending changes are shown as if they were saved`() async throws {
        let model = MeModel(presence)
        let run = Task { await model.run() }
        await until { model.me.user == "ana" }
        presence.goOffline()
        #expect(try await presence.updateProfile(ProfileChanges(displayName: "Ana"), offline: .queue) == .queued)
        await until { model.displayName == "Ana" && model.pending.waiting != nil }
        #expect(model.me.profile == nil)
        presence.goOnline()
        await until { model.pending.waiting == nil }
        await until { model.me.profile?.displayName == "Ana" }
        run.cancel()
    }
}

import Expectations
import PresenceKit
import PresenceTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(1))) struct MeModelTests {
    private let stage = Stage()
    private var server: InMemoryServer { stage.server }

    @Test func `the user's status is chosen and shown`() async {
        let model = MeModel(stage.client)
        let run = Task { await model.run() }
        await until { model.me.user == "ana" }
        await model.choose(.busy, text: "lunch")
        await until { model.me.status?.status == .busy && model.me.status?.text == "lunch" }
        await model.choose(.auto, text: "")
        await until { model.me.status?.status == .auto && model.me.status?.text == nil }
        expect(stage.requested("status", "status"), equals: ["busy", "auto"])
        expect(stage.requested("status", "text"), equals: ["lunch", nil])
        run.cancel()
    }

    @Test func `a rejected choice shows an error in plain language, cleared by the next choice`() async {
        await stage.connected()
        let model = MeModel(stage.client)
        server.fail(
            "status", with: PresenceError(.validationFailed, "text must be at most 140 characters", field: "text"))
        await model.choose(.busy, text: "x")
        expect(model.errorMessage, equals: "This text cannot be used.")
        server.hold()
        let choice = Task { await model.choose(.busy) }
        await server.received("status", count: 2)
        choice.cancel()
        await choice.value
        expect(model.errorMessage, equals: nil)
    }

    @Test func `a choice that is being saved is shown as such`() async {
        let model = MeModel(stage.client)
        server.hold()
        let choice = Task { await model.choose(.invisible) }
        await until { model.isSaving }
        server.release()
        await choice.value
        expect(!model.isSaving)
    }

    @Test func `a status that is chosen offline is shown as queued`() async {
        let model = MeModel(stage.client)
        let run = Task { await model.run() }
        await until { model.me.user == "ana" }
        await stage.goOffline()
        await model.choose(.busy)
        await until { model.isStatusQueued }
        expect(model.errorMessage, equals: nil)
        await stage.goOnline()
        await until { !model.isStatusQueued && model.me.status?.status == .busy }
        await model.choose(.auto, clearAfter: .zero)
        expect(model.errorMessage, equals: "This time cannot be used.")
        run.cancel()
    }

    @Test func `a status is queued until it is made or rejected, whatever another device chooses`() async throws {
        let model = MeModel(stage.client)
        let run = Task { await model.run() }
        await until { model.me.user == "ana" }
        await stage.goOffline()
        await model.choose(.busy)
        await until { model.isStatusQueued }
        server.goOnline()
        await until { !model.isStatusQueued && model.me.status?.status == .busy }
        try await server.client(as: "ana").setStatus(.invisible)
        await until { !model.isStatusQueued && model.me.status?.status == .invisible }
        expect(model.errorMessage, equals: nil)

        await stage.goOffline()
        await model.choose(.busy, text: "lunch")
        await until { model.isStatusQueued }
        server.fail("connect", with: PresenceError(.validationFailed, "no", field: "status.text"))
        server.goOnline()
        await until { !model.isStatusQueued && model.errorMessage != nil }
        expect(model.errorMessage, equals: "This text cannot be used.")
        run.cancel()
    }

    @Test func `pending changes are shown as if they were saved`() async throws {
        let model = MeModel(stage.client)
        let run = Task { await model.run() }
        await until { model.me.user == "ana" }
        await stage.goOffline()
        try await expect(
            stage.client.updateProfile(ProfileChanges(displayName: "Ana"), offline: .queue), equals: .queued)
        await until { model.displayName == "Ana" && model.pending.waiting != nil }
        expect(model.me.profile?.displayName, equals: nil)
        await stage.goOnline()
        await until { model.pending.waiting == nil }
        await until { model.me.profile?.displayName == "Ana" }
        run.cancel()
    }
}

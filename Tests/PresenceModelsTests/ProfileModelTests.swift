import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

/// REQUIREMENTS 001: the form in which a profile is edited.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ProfileModelTests {
    private let clock = TestClock()
    private let users = ScriptedUsers([
        User(id: "me", displayName: "Ana", username: "ana.b", lastSeen: .inTests, createdAt: .inTests)
    ])

    private func opened() async -> (model: ProfileModel, run: Task<Void, Never>) {
        let model = ProfileModel(user: "me", users: users, usernames: users, clock: clock)
        let run = Task { await model.run() }
        await until { model.displayName == "Ana" && model.username == "ana.b" }
        return (model, run)
    }

    @Test func `the form shows what is saved, and nothing is changed`() async {
        let (model, run) = await opened()
        expect(!model.hasChanges && !model.canSave && !model.isLoading && !model.showError && !model.showSuccess)
        expect(model.usernameAvailable == nil || model.usernameAvailable == true)
        expect(users.usernameChecks.isEmpty, "an unchanged name is not asked for")
        run.cancel()
    }

    @Test func `a changed name can be saved, which is told`() async {
        let (model, run) = await opened()
        model.displayName = " Ana Silva "
        expect(model.hasChanges && model.canSave)
        await model.save()
        expect(model.showSuccess && !model.hasChanges && model.displayName == "Ana Silva")
        expect(users.updates, equals: [ProfileChanges(displayName: "Ana Silva")])
        model.displayName = "Another"
        expect(!model.showSuccess, "until the next change")
        run.cancel()
    }

    @Test func `a picture is changed and removed`() async {
        let (model, run) = await opened()
        let url = URL(string: "https://example.org/a.jpg")
        model.photoURL = url
        await model.save()
        model.photoURL = nil
        await model.save()
        expect(users.updates.map(\.photoURL), equals: [Change(url), .remove])
        run.cancel()
    }

    @Test func `a name that breaks the rule cannot be saved`() async {
        let (model, run) = await opened()
        model.displayName = String(repeating: "x", count: 51)
        expect(model.displayNameError == "Display name must be 50 characters or less" && !model.canSave)
        model.displayName = " "
        expect(!model.canSave)
        await model.save()
        expect(users.updates.isEmpty)
        run.cancel()
    }

    @Test func `a failure is told and leaves the form as it was`() async {
        let (model, run) = await opened()
        users.failure = PresenceError.updateFailed(
            reason: "There is no connection to the server.", outcomeUnknown: false)
        model.displayName = "Bea"
        await model.save()
        expect(model.errorMessage, equals: "Failed to save the user. There is no connection to the server.")
        expect(model.showError && model.hasChanges && model.displayName == "Bea")
        users.failure = nil
        await model.retry()
        expect(!model.showError && model.showSuccess && !model.hasChanges)
        run.cancel()
    }

    @Test func `what was not saved stays when the profile changes elsewhere, the rest follows`() async {
        let (model, run) = await opened()
        model.displayName = "Mine"
        let url = URL(string: "https://example.org/new.jpg")
        users.set(
            User(
                id: "me", displayName: "Theirs", username: "ana.b", profileImageURL: url, lastSeen: .inTests,
                createdAt: .inTests))
        await until { model.photoURL == url }
        expect(model.displayName == "Mine" && model.hasChanges)
        model.discardChanges()
        expect(model.displayName == "Theirs" && !model.hasChanges)
        run.cancel()
    }

    @Test func `an offline change is queued, and shown as such`() async {
        let (model, run) = await opened()
        users.isOffline = true
        model.displayName = "Ana Silva"
        await model.save()
        expect(model.isQueued && model.showSuccess && !model.hasChanges)
        run.cancel()
    }

    @Test func `edits during a save are not saved, and stay`() async {
        let (model, run) = await opened()
        users.delay = .seconds(1)
        model.displayName = "Ana Silva"
        let saving = Task { await model.save() }
        await users.clock.sleepers()
        model.displayName = "Ana Sousa"
        model.photoURL = URL(string: "https://example.org/a.jpg")
        users.clock.advance(by: .seconds(1))
        await saving.value
        expect(users.updates, equals: [ProfileChanges(displayName: "Ana Silva")])
        expect(model.displayName == "Ana Sousa" && model.photoURL != nil && model.hasChanges && model.canSave)
        run.cancel()
    }

    @Test func `a queued change is shown until the profile has it, whatever events arrive`() async {
        let (model, run) = await opened()
        users.isOffline = true
        model.displayName = "Ana Silva"
        await model.save()
        // Received again unchanged, because another device changed the picture.
        let picture = URL(string: "https://example.org/a.jpg")
        users.set(User(id: "me", displayName: "Ana", username: "ana.b", profileImageURL: picture))
        await until { model.photoURL == picture }
        expect(model.displayName == "Ana Silva" && !model.hasChanges && model.username == "ana.b")
        users.set(User(id: "me", displayName: "Ana Silva"))
        await until { model.photoURL == nil }
        users.set(User(id: "me", displayName: "Elsewhere"))
        await until { model.displayName == "Elsewhere" }
        run.cancel()
    }

    @Test func `a rejected queued change is reported, and the saved value returns`() async {
        let (model, run) = await opened()
        users.isOffline = true
        model.displayName = "Ana Silva"
        await model.save()
        expect(model.isQueued)
        users.refuse(.invalid(field: "displayName", reason: "This name cannot be used."))
        await until { model.errorMessage == "This name cannot be used." }
        expect(!model.isQueued && !model.showSuccess && model.displayName == "Ana")
        run.cancel()
    }

    // MARK: The username

    @Test func `a username is asked for half a second after the last key, once`() async {
        let (model, run) = await opened()
        model.username = "ana.s"
        expect(model.isCheckingAvailability && !model.canSave)
        await clock.sleepers()
        clock.advance(by: .milliseconds(499))
        model.username = "ana.si"
        await clock.sleepers()
        clock.advance(by: .milliseconds(499))
        expect(users.usernameChecks.isEmpty)
        clock.advance(by: .milliseconds(1))
        await until { model.usernameAvailable == true }
        expect(users.usernameChecks == ["ana.si"] && !model.isCheckingAvailability && model.canSave)
        await model.save()
        expect(model.showSuccess && users.updates.isEmpty, "only the username was changed")
        run.cancel()
    }

    @Test func `a taken username, a malformed one and a check that fails are told`() async {
        let (model, run) = await opened()
        users.takenUsernames = ["bob"]
        model.username = "a..b"
        expect(model.usernameError?.hasPrefix("Invalid username format.") == true && !model.isCheckingAvailability)
        model.username = "Bob"
        await clock.sleepers()
        clock.advance(by: .milliseconds(500))
        await until { model.usernameError == "This username is already taken." }
        expect(model.usernameAvailable == false && !model.canSave)
        users.failure = PresenceError.fetchFailed(reason: "")
        model.username = "carl"
        await clock.sleepers()
        clock.advance(by: .milliseconds(500))
        await until { model.usernameError == "Failed to check availability." }
        model.username = "ana.b"
        expect(model.usernameError == nil && model.usernameAvailable == true && !model.hasChanges)
        run.cancel()
    }

    @Test func `a retry repeats a failed check without a pause`() async {
        let (model, run) = await opened()
        users.failure = PresenceError.fetchFailed(reason: "")
        model.username = "carl"
        await clock.sleepers()
        clock.advance(by: .milliseconds(500))
        await until { model.usernameError == "Failed to check availability." }
        await model.retry()
        expect(model.usernameError == "Failed to check availability." && !model.canSave)
        users.failure = nil
        await model.retry()
        expect(model.usernameAvailable == true && model.usernameError == nil && model.canSave)
        expect(users.usernameChecks == ["carl", "carl", "carl"] && users.updates.isEmpty)
        await model.save()
        expect(model.showSuccess && !model.hasChanges)
        run.cancel()
    }
}

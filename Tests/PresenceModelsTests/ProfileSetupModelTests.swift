import Expectations
import Foundation
import PresenceKit
import PresenceTesting
import Testing

/// REQUIREMENTS 000: the first form for a new user.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ProfileSetupModelTests {
    private let users = ScriptedUsers()
    private static let ana = User(id: "me", email: "ana.b@example.org", displayName: "ana.b")

    private func model(_ user: User = Self.ana) -> ProfileSetupModel {
        ProfileSetupModel(currentUser: user, users: users)
    }

    @Test func `the name is filled in with the e-mail's first part, or User`() {
        expect(model().displayName, equals: "ana.b")
        expect(model(User(id: "me", displayName: "")).displayName, equals: "User")
        expect(model().errorMessage == nil && !model().isLoading && !model().profileSaved)
    }

    @Test func `saving stores the trimmed name`() async {
        let model = model()
        model.displayName = "  Ana Silva "
        await model.saveProfile()
        expect(model.profileSaved && model.errorMessage == nil && !model.isLoading)
        expect(users.updates, equals: [ProfileChanges(displayName: "Ana Silva")])
    }

    @Test func `a picture's address is stored with it`() async {
        let model = model()
        model.profileImageURL = URL(string: "https://example.org/a.jpg")
        await model.saveProfile()
        expect(users.updates.first?.photoURL, equals: Change(URL(string: "https://example.org/a.jpg")))
    }

    @Test func `a name that is empty or too long is told, and nothing is sent`() async {
        let model = model()
        model.displayName = "   "
        await model.saveProfile()
        expect(model.errorMessage, equals: "Display name cannot be empty")
        expect(model.validateDisplayName(), equals: "Display name cannot be empty")
        expect(users.updates.isEmpty && !model.profileSaved)
        model.displayName = "Ana"
        expect(model.validateDisplayName(), equals: nil)
    }

    @Test func `the name is cut at 50 while it is typed, and counted`() {
        let model = model()
        model.displayName = String(repeating: "x", count: 45)
        expect(model.counter == "45/50" && !model.isNearLimit)
        model.displayName = String(repeating: "x", count: 60)
        expect(model.displayName.count == 50 && model.counter == "50/50" && model.isNearLimit)
    }

    @Test func `a failure is told, and a retry does it`() async {
        let model = model()
        users.failure = PresenceError.updateFailed(reason: "There is no connection.", outcomeUnknown: false)
        await model.saveProfile()
        expect(model.errorMessage, equals: "Failed to save profile. Please try again.")
        expect(!model.profileSaved && !model.isLoading)
        users.failure = nil
        await model.retry()
        expect(model.profileSaved && model.errorMessage == nil)
        expect(users.updates.count, equals: 2)
    }

    @Test func `a name that the server does not accept is told as the server says`() async {
        let model = model()
        users.failure = PresenceError.invalid(field: "displayName", reason: "This name cannot be used.")
        await model.saveProfile()
        expect(model.errorMessage, equals: "This name cannot be used.")
    }

    @Test func `while it is saved it says so, and does not save twice`() async {
        let model = model()
        users.delay = .seconds(1)
        let saving = Task { await model.saveProfile() }
        await users.clock.sleepers()
        expect(model.isLoading && !model.canContinue && model.errorMessage == nil)
        await model.saveProfile()
        users.clock.advance(by: .seconds(1))
        await saving.value
        expect(!model.isLoading && model.profileSaved)
        expect(users.updates.count, equals: 1)
    }

    @Test func `offline the profile is queued, which is good enough`() async {
        let model = model()
        users.isOffline = true
        await model.saveProfile()
        expect(model.profileSaved)
    }

    @Test func `skipping takes the standard name`() async {
        let model = model()
        model.displayName = "Something else"
        await model.skipSetup()
        expect(model.profileSaved)
        expect(users.updates.map(\.displayName), equals: ["ana.b"])
        users.failure = PresenceError.fetchFailed(reason: "")
        let second = self.model()
        await second.skipSetup()
        users.failure = nil
        await second.retry()
        expect(second.profileSaved && users.updates.last?.displayName == "ana.b")
    }

    @Test func `skipping keeps the name and the picture that the user has already`() async {
        let picture = URL(string: "https://example.org/a.jpg")
        let user = User(id: "me", email: "ana.b@example.org", displayName: "Ana", profileImageURL: picture)
        let model = model(user)
        expect(model.displayName, equals: "Ana")
        model.displayName = "Something else"
        model.profileImageURL = URL(string: "https://example.org/b.jpg")
        await model.skipSetup()
        expect(users.updates, equals: [ProfileChanges(displayName: "Ana")])
    }

    @Test func `a picture that was uploaded is in the form, and not saved a second time`() async {
        let photos = InMemoryServer().app(as: "me").account
        let model = ProfileSetupModel(currentUser: Self.ana, users: users, photos: photos)
        await model.photo?.upload(Data([0xFF, 0xD8, 0xFF, 1]))
        expect(model.profileImageURL != nil && model.profileImageURL == model.photo?.photo?.url)
        model.displayName = "Ana"
        await model.saveProfile()
        expect(users.updates, equals: [ProfileChanges(displayName: "Ana")])
    }

    @Test func `skipping during a save has no effect`() async {
        let model = model()
        model.displayName = "Ana"
        users.delay = .seconds(1)
        users.failure = PresenceError.fetchFailed(reason: "")
        let saving = Task { await model.saveProfile() }
        await users.clock.sleepers()
        await model.skipSetup()
        users.clock.advance(by: .seconds(1))
        await saving.value
        (users.failure, users.delay) = (nil, nil)
        await model.retry()
        expect(model.profileSaved && users.updates.map(\.displayName) == ["Ana", "Ana"])
    }

    @Test func `setup is needed as long as the name is the standard one`() {
        expect(ProfileSetupModel.isNeeded(for: Self.ana))
        expect(ProfileSetupModel.isNeeded(for: User(id: "me", displayName: "")))
        expect(!ProfileSetupModel.isNeeded(for: User(id: "me", email: "ana.b@example.org", displayName: "Ana")))
    }
}

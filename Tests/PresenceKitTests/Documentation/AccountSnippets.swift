import Foundation
import PresenceAccounts
import PresenceKit
import PresenceTesting
import Testing

// The code of the page on accounts, compiled. The page shows the text between the marks.

@MainActor
private final class AccountScreen {
    var label = ""
    var title = ""
    let password = ""

    func show(_ text: String, dimmed: Bool) { title = text }

    func making() throws -> (PresenceAccount, PresenceClient) {
        // <snippet>
        let account = PresenceAccount(
            url: URL(string: "https://presence.example.org")!, device: Device(kind: .phone, name: "Ana's phone"))
        let client = PresenceClient(account: account, storage: try .standard())
        // </snippet>
        return (account, client)
    }

    func following(_ account: PresenceAccount) async {
        // <snippet>
        for await state in account.states {
            switch state {
            case .restoring: title = ""
            case .signedOut(.refused): title = "Please sign in again."
            case .signedOut: title = "Welcome"
            case .signedIn(let account, let freshness): show(account.email ?? "Guest", dimmed: !freshness.isLive)
            }
        }
        // </snippet>
    }

    func signing(_ account: PresenceAccount) async throws {
        // <snippet>
        do {
            switch try await account.signUp(email: "ana@example.org", password: password, displayName: "Ana") {
            case .signedIn: try await account.claimUsername("ana.b")
            case .mailSent: title = "Please follow the link in your email, then sign in."
            }
        } catch let error as PresenceError where error.reason == .emailTaken {
            try await account.signIn(email: "ana@example.org", password: password)
        }
        // </snippet>
    }

    func uploading(_ account: PresenceAccount, _ picture: Data) async throws {
        // <snippet>
        for try await step in account.uploadPhoto(picture) {
            switch step {
            case .progress(let part): label = "\(Int(part * 100))%"
            case .saved(let photo): title = photo.url.lastPathComponent
            }
        }
        // </snippet>
    }

    func models(_ account: PresenceAccount, _ client: PresenceClient, _ user: User) -> [AnyObject] {
        // <snippet>
        let auth = AuthModel(auth: account)
        let setup = ProfileSetupModel(currentUser: user, users: client, photos: account, setup: account)
        let profile = ProfileModel(user: user.id, users: client, usernames: account, photos: account)
        // </snippet>
        return [auth, setup, profile]
    }
}

@Suite(.timeLimit(.minutes(1))) struct AccountSnippetTests {
    // <snippet>
    @MainActor @Test func tellsThatAnEmailIsTaken() async throws {
        let account = InMemoryServer().app().account
        try await account.signUp(email: "ana@example.org", password: "correct horse")
        let model = AuthModel(auth: account)
        model.email = "ana@example.org"
        model.password = "battery staple"
        model.displayName = "Ana"
        await model.signUp()
        #expect(model.errorMessage == "This email is already registered.")
    }
    // </snippet>
}

import Foundation
import Observation

/// Other people on a screen: a search by name, and the requests of users who want to be contacts.
///
/// ```swift
/// List(model.requests) { request in Text(request.displayName ?? request.user) }
///     .task { await model.run() }
/// ```
@MainActor @Observable
public final class PeopleModel {
    /// The field for a name. It is searched 0.4 s after the last key: in the directory if the server has one, otherwise
    /// only as a whole username.
    public var text = "" { didSet { if text != oldValue { textChanged() } } }
    /// The users found for ``text``.
    public private(set) var found: [User] = []
    /// Whether a search is in progress, or follows the next pause.
    public private(set) var isSearching = false
    /// Whether the search for ``text`` found no user.
    public private(set) var hasFoundNobody = false
    /// The users who ask to be contacts, oldest first.
    public private(set) var requests: [Me.ContactRequest] = []
    /// Whether the requests are known.
    public private(set) var isLoaded = false
    /// Why the last operation failed, as a text for users.
    public private(set) var errorMessage: String?
    /// The result of the last operation, as a text for users.
    public private(set) var message: String?

    /// How long the model waits after the last key.
    static let debounce = Duration.milliseconds(400)
    private let client: PresenceClient
    private let clock: any Clock<Duration>
    /// `nil` until a search has shown it.
    private var hasDirectory: Bool?
    private var searching: Task<Void, Never>?

    /// Creates a model; it has no requests until ``run()``.
    ///
    /// - Parameter clock: for the pause before a search.
    public init(_ client: PresenceClient, clock: any Clock<Duration> = ContinuousClock()) {
        (self.client, self.clock) = (client, clock)
    }

    /// Observes the requests until its task is cancelled, or the user signs out.
    public func run() async {
        for await requests in client.contactRequests {
            self.requests = requests
            isLoaded = true
        }
    }

    // MARK: Searching

    private var wanted: String {
        let name = text.trimmingCharacters(in: .whitespaces)
        return name.hasPrefix("@") ? String(name.dropFirst()) : name
    }

    private func textChanged() {
        (found, errorMessage, message, hasFoundNobody) = ([], nil, nil, false)
        search(after: Self.debounce)
    }

    /// Searches at once, because the user pressed Return.
    public func search() async {
        search(after: nil)
        await searching?.value
    }

    private func search(after pause: Duration?) {
        searching?.cancel()
        let name = wanted
        isSearching = name.utf8.count >= 2
        guard isSearching else { return searching = nil }
        searching = Task { [weak self, clock] in
            if let pause, (try? await clock.sleep(for: pause)) == nil { return }
            guard let result = await self?.users(named: name), !Task.isCancelled else { return }
            self?.show(result, for: name)
        }
    }

    private func users(named name: String) async -> Result<[User], any Error> {
        do {
            if hasDirectory != false {
                do {
                    let users = try await client.users(startingWith: name, limit: 20)
                    hasDirectory = true
                    return .success(users)
                } catch let error as PresenceError where error.code == .notOffered {
                    hasDirectory = false
                }
            }
            return .success(try await client.user(named: name).map { [$0] } ?? [])
        } catch {
            return .failure(error)
        }
    }

    private func show(_ result: Result<[User], any Error>, for name: String) {
        guard name == wanted else { return }
        isSearching = false
        switch result {
        case .success(let users):
            (found, hasFoundNobody) = (users, users.isEmpty)
            message = users.isEmpty ? Sentence.nobodyFound.text() : nil
        case .failure(is CancellationError): break
        case .failure(let error): errorMessage = error.localizedDescription
        }
    }

    // MARK: Actions

    /// Adds a user to the contacts; the other is not notified.
    public func add(_ user: String) async { await attempt { try await $0.addContacts([user]) } }

    /// Asks a user to be a contact, with a text of 1 to 140 characters if it is not empty.
    public func ask(_ user: String, text: String = "") async {
        await attempt(Sentence.contactAsked.text()) {
            try await $0.requestContact(user, text: text.isEmpty ? nil : text)
        }
    }

    /// Accepts a request: both are contacts of each other then.
    public func accept(_ request: Me.ContactRequest) async { await answer(request, true) }

    /// Refuses a request; the other user does not notice.
    public func refuse(_ request: Me.ContactRequest) async { await answer(request, false) }

    private func answer(_ request: Me.ContactRequest, _ accept: Bool) async {
        await attempt {
            do {
                try await $0.answerContact(request.user, accept: accept)
            } catch let error as PresenceError where error.code == .notFound {
                // Another device has answered it.
            }
        }
    }

    /// Blocks a user, which also ends their request.
    public func block(_ user: String) async { await attempt { try await $0.block([user]) } }

    private func attempt(_ success: String? = nil, _ body: @MainActor (PresenceClient) async throws -> Void) async {
        (errorMessage, message) = (nil, nil)
        let fault = await failure {
            try await body(client)
            message = success
        }
        if let fault { errorMessage = fault }
    }
}

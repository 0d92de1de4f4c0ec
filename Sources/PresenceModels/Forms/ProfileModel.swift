import Foundation
import Observation
import PresenceDomain

/// The form in which a user changes their profile, with what was not saved yet.
@MainActor @Observable
public final class ProfileModel {
    public var displayName: String {
        get { fields.displayName }
        set { change(\.displayName, newValue) }
    }
    public var photoURL: URL? {
        get { fields.photoURL }
        set { change(\.photoURL, newValue) }
    }
    /// Where accounts are used; changes are checked after a pause.
    public var username: String {
        get { fields.username }
        set { if change(\.username, newValue) { usernameChanged() } }
    }

    public private(set) var isLoading = false
    public private(set) var isCheckingAvailability = false
    /// Whether the username may be taken; `nil` while it is not known.
    public private(set) var usernameAvailable: Bool?
    public private(set) var usernameError: String?
    public private(set) var errorMessage: String?
    public private(set) var showSuccess = false
    /// Whether the last change waits for a connection.
    public private(set) var isQueued = false
    /// The picture that is stored on the server, where there are photos: it is saved when it is chosen.
    public let photo: PhotoModel?

    private let users: any UserRepository
    private let usernames: (any UsernameRepository)?
    private let clock: any Clock<Duration>
    private let user: String
    private var fields = Fields()
    /// As the repository showed it last.
    private var heard: User?
    /// The same, with what is queued.
    private var saved: User?
    /// What is queued, until the repository shows it or tells that it is refused.
    private var queued = UserChanges()
    /// The same as `saved`, where there are usernames.
    private var savedUsername: String?
    private var checking: Task<Void, Never>?

    /// What the user sees and types.
    private struct Fields {
        var displayName = ""
        var photoURL: URL?
        var username = ""
    }

    /// How long after the last key press a username is checked.
    private static let debounce = Duration.milliseconds(500)

    /// - Parameters:
    ///   - user: whose profile it is: the own user.
    ///   - usernames: where the user has a username; without one, `username` has no effect.
    ///   - photos: where the user's picture is stored; without one there is no ``photo``.
    public init(
        user: String, users: any UserRepository, usernames: (any UsernameRepository)? = nil,
        photos: (any PhotoRepository)? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.user = user
        self.users = users
        self.usernames = usernames
        self.clock = clock
        photo = photos.map { PhotoModel(photos: $0) }
        photo?.onChange = { [weak self] photo in self?.take(photo) }
    }

    /// Whether anything differs from what is saved.
    public var hasChanges: Bool { nameChanged || photoURL != saved?.profileImageURL || hasNewUsername }
    public var showError: Bool { errorMessage != nil }
    public var displayNameError: String? { displayName.isEmpty ? nil : DisplayNameRule.fault(in: displayName) }

    /// Whether saving makes sense now.
    public var canSave: Bool {
        !isLoading && hasChanges && DisplayNameRule.fault(in: displayName) == nil && usernameError == nil
            && !isCheckingAvailability && (!hasNewUsername || username.isEmpty || usernameAvailable == true)
            && photo?.isUploading != true
    }

    private var nameChanged: Bool { DisplayNameRule.trimmed(displayName) != saved?.displayName ?? "" }
    private var hasNewUsername: Bool { usernames != nil && username != savedUsername ?? "" }

    /// Follows the profile until its task is cancelled, or the user signs out. What was changed here and not saved stays.
    public func run() async {
        async let refusals: Void = followRefusals()
        async let names: Void = followUsernames()
        for await newer in users.userUpdates(of: user) { take(newer) }
        await refusals
        await names
    }

    private func followRefusals() async {
        for await refusal in users.updateRefusals {
            queued = UserChanges()
            isQueued = false
            if let heard { take(heard) }
            (errorMessage, showSuccess) = (refusal.localizedDescription, false)
        }
    }

    private func followUsernames() async {
        guard let usernames else { return }
        for await newer in usernames.ownUsernames {
            let former = savedUsername
            savedUsername = newer
            if username == former ?? "" { username = newer ?? "" } else { usernameChanged() }
        }
    }

    private func take(_ newer: User) {
        heard = newer
        let former = saved
        saved = withQueued(newer)
        if displayName == former?.displayName ?? "" { displayName = saved!.displayName }
        if photoURL == former?.profileImageURL { photoURL = saved!.profileImageURL }
    }

    /// A picture was uploaded, or removed.
    private func take(_ photo: Photo?) {
        heard?.profileImageURL = photo?.url
        saved?.profileImageURL = photo?.url
        fields.photoURL = photo?.url
        showSuccess = true
    }

    /// What is queued counts as saved until an element agrees.
    private func withQueued(_ newer: User) -> User {
        var user = newer
        if let name = queued.displayName {
            if name == newer.displayName { queued.displayName = nil } else { user.displayName = name }
        }
        if let picture = queued.profileImageURL {
            if picture == newer.profileImageURL { queued.profileImageURL = nil } else { user.profileImageURL = picture }
        }
        return user
    }

    /// Saves what was changed. It is shown as saved when the repository has taken it; what is changed meanwhile is not.
    public func save() async {
        guard canSave else { return }
        isLoading = true
        (errorMessage, showSuccess) = (nil, false)
        defer { isLoading = false }
        do {
            // As it is now: the user goes on typing.
            let (form, name) = (fields, DisplayNameRule.trimmed(displayName))
            let changes = UserChanges(
                displayName: nameChanged ? name : nil,
                profileImageURL: photoURL == saved?.profileImageURL ? nil : .some(photoURL))
            if hasNewUsername { try await saveUsername() }
            if changes != UserChanges() { try await save(changes) }
            if fields.displayName == form.displayName { fields.displayName = saved?.displayName ?? name }
            showSuccess = true
        } catch is CancellationError {
        } catch {
            // Somebody else was faster.
            if case UserError.invalid("username", let reason) = error {
                (usernameAvailable, usernameError) = (false, reason)
            }
            errorMessage = error.localizedDescription
        }
    }

    private func save(_ changes: UserChanges) async throws {
        let update = try await users.update(changes)
        isQueued = update == .queued
        // An element that came meanwhile may be older than what was saved.
        if let name = changes.displayName { queued.displayName = isQueued ? name : nil }
        if let picture = changes.profileImageURL { queued.profileImageURL = isQueued ? .some(picture) : nil }
        if case .saved(let user) = update { return take(user) }
        if let name = changes.displayName { saved?.displayName = name }
        if let picture = changes.profileImageURL { saved?.profileImageURL = picture }
    }

    private func saveUsername() async throws {
        let name = username
        if name.isEmpty { try await usernames?.release() } else { try await usernames?.take(name) }
        savedUsername = name.isEmpty ? nil : name
    }

    /// Tries again what failed.
    public func retry() async { await save() }

    /// Goes back to what is saved.
    public func discardChanges() {
        displayName = saved?.displayName ?? ""
        photoURL = saved?.profileImageURL
        username = savedUsername ?? ""
        errorMessage = nil
    }

    /// Whether it is another value.
    @discardableResult
    private func change<Value: Equatable>(_ field: WritableKeyPath<Fields, Value>, _ value: Value) -> Bool {
        guard fields[keyPath: field] != value else { return false }
        fields[keyPath: field] = value
        showSuccess = false
        errorMessage = nil
        return true
    }

    // MARK: The username

    private func usernameChanged() {
        checking?.cancel()
        (usernameAvailable, usernameError, isCheckingAvailability) = (nil, nil, false)
        guard hasNewUsername else {
            usernameAvailable = username.isEmpty ? nil : true
            return
        }
        // An empty one gives the name back.
        guard !username.isEmpty, let usernames else { return }
        usernameError = UsernameRule.fault(in: username)
        guard usernameError == nil else { return }
        isCheckingAvailability = true
        checking = Task { [weak self, clock, username] in
            guard (try? await clock.sleep(for: Self.debounce)) != nil else { return }
            let isAvailable = try? await usernames.isAvailable(username)
            guard !Task.isCancelled else { return }
            self?.checked(username, isAvailable)
        }
    }

    private func checked(_ name: String, _ isAvailable: Bool?) {
        guard name == username else { return }
        isCheckingAvailability = false
        usernameAvailable = isAvailable
        switch isAvailable {
        case true?: usernameError = nil
        case false?: usernameError = "This username is already taken."
        case nil: usernameError = "Failed to check availability."
        }
    }
}

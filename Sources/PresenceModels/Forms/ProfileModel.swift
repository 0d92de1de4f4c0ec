import Foundation
import Observation
import PresenceDomain

/// The form in which a user changes their profile, with what was not saved yet.
@MainActor @Observable
public final class ProfileModel {
    /// The name in the form; it follows the profile until it is changed here.
    public var displayName: String {
        get { fields.displayName }
        set { change(\.displayName, newValue) }
    }
    /// The picture in the form; it follows the profile until it is changed here.
    public var photoURL: URL? {
        get { fields.photoURL }
        set { change(\.photoURL, newValue) }
    }
    /// Where accounts are used; changes are checked after a pause.
    public var username: String {
        get { fields.username }
        set { if change(\.username, newValue) { usernameChanged() } }
    }

    /// Whether ``save()`` is under way.
    public private(set) var isLoading = false
    /// Whether a changed username waits for its check, or is being checked.
    public private(set) var isCheckingAvailability = false
    /// Whether the username may be taken; `nil` while it is not known.
    public private(set) var usernameAvailable: Bool?
    /// What is wrong with the username, for people: its form, that it is taken, that the check failed.
    public private(set) var usernameError: String?
    /// Why the last save failed, for people; `nil` again with the next change.
    public private(set) var errorMessage: String?
    /// Whether the last save was taken; `false` again with the next change.
    public private(set) var showSuccess = false
    /// Whether a change that was saved here waits for a connection. It is `false` again when the change was made, which
    /// ``showSuccess`` tells then, or refused, which ``errorMessage`` tells.
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
    /// Whether the last check of the username had no answer.
    private var checkFailed = false

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
    /// Whether there is an ``errorMessage``.
    public var showError: Bool { errorMessage != nil }
    /// What is wrong with the name, for people; `nil` also while the field is empty.
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
        // They end with this: the account of a user who signed out goes on telling of names.
        async let _ = followRefusals()
        async let _ = followPending()
        async let _ = followUsernames()
        for await newer in users.userUpdates(of: user) { take(newer) }
    }

    private func followRefusals() async {
        for await refusal in users.updateRefusals {
            switch refusal {
            case .invalid("displayName", _): queued.displayName = nil
            case .invalid("photoURL", _): queued.profileImageURL = nil
            default: queued = UserChanges()
            }
            if queued == UserChanges() { isQueued = false }
            if let heard { take(heard) }
            (errorMessage, showSuccess) = (refusal.localizedDescription, false)
        }
    }

    private func followPending() async {
        for await isPending in users.pendingUpdates where !isPending { await settle() }
    }

    /// Nothing waits any longer: what the profile has now counts, which may be a later change of another device.
    private func settle() async {
        guard isQueued else { return }
        isQueued = false
        let newer = try? await users.user(user)
        // Something else may have been queued meanwhile.
        guard !isQueued else { return }
        if let newer {
            queued = UserChanges()
            take(newer)
        }
        showSuccess = errorMessage == nil
    }

    /// Whether something waits now; `nil` if the repository does not say so.
    private func isPending() async -> Bool? {
        for await isPending in users.pendingUpdates { return isPending }
        return nil
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
        if displayName == former?.displayName ?? "" { fields.displayName = saved!.displayName }
        if photoURL == former?.profileImageURL { fields.photoURL = saved!.profileImageURL }
        if isQueued, queued == UserChanges() {
            isQueued = false
            showSuccess = errorMessage == nil
        }
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
        // It may have been done before this was told.
        if isQueued, await isPending() == false { await settle() }
    }

    private func saveUsername() async throws {
        let name = username
        if name.isEmpty { try await usernames?.release() } else { try await usernames?.take(name) }
        savedUsername = name.isEmpty ? nil : name
    }

    /// Tries again what failed: the check of the username if that had no answer, else the save.
    public func retry() async {
        guard checkFailed else { return await save() }
        usernameChanged(debounce: nil)
        await checking?.value
    }

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

    private func usernameChanged(debounce: Duration? = ProfileModel.debounce) {
        checking?.cancel()
        (usernameAvailable, usernameError, isCheckingAvailability, checkFailed) = (nil, nil, false, false)
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
            if let debounce, (try? await clock.sleep(for: debounce)) == nil { return }
            let isAvailable = try? await usernames.isAvailable(username)
            guard !Task.isCancelled else { return }
            self?.checked(username, isAvailable)
        }
    }

    private func checked(_ name: String, _ isAvailable: Bool?) {
        guard name == username else { return }
        isCheckingAvailability = false
        usernameAvailable = isAvailable
        checkFailed = isAvailable == nil
        switch isAvailable {
        case true?: usernameError = nil
        case false?: usernameError = "This username is already taken."
        case nil: usernameError = "Failed to check availability."
        }
    }
}

import Foundation
import Observation

/// The form in which users edit their profile, with the unsaved changes.
@MainActor @Observable
public final class ProfileModel {
    /// The name in the form; follows the profile until it is edited.
    public var displayName: String {
        get { fields.displayName }
        set { change(\.displayName, newValue) }
    }
    /// The picture in the form; follows the profile until it is edited.
    public var photoURL: URL? {
        get { fields.photoURL }
        set { change(\.photoURL, newValue) }
    }
    /// The username in the form, if accounts are used. Edits are checked after a pause.
    public var username: String {
        get { fields.username }
        set { if change(\.username, newValue) { usernameChanged() } }
    }

    /// Whether ``save()`` is in progress.
    public private(set) var isLoading = false
    /// Whether an edited username is being checked, or waits for its check.
    public private(set) var isCheckingAvailability = false
    /// Whether the username is available; `nil` while unknown.
    public private(set) var usernameAvailable: Bool?
    /// The fault of the username, as a text for users: malformed, taken, or the check failed.
    public private(set) var usernameError: String?
    /// Why the last save failed, as a text for users; cleared by the next edit.
    public private(set) var errorMessage: String?
    /// Whether the last save succeeded; cleared by the next edit.
    public private(set) var showSuccess = false
    /// Whether a saved change is queued until there is a connection. When it becomes `false`, the change was made
    /// (``showSuccess``) or rejected (``errorMessage``).
    public private(set) var isQueued = false
    /// The stored picture, if there are photos. It is saved as soon as it is chosen.
    public let photo: PhotoModel?

    private let users: any UserRepository
    private let usernames: (any ProfileRepository)?
    private let clock: any Clock<Duration>
    private let user: String
    private var fields = Fields()
    /// The latest value from the repository.
    private var heard: User?
    /// The latest value, including queued changes.
    private var saved: User?
    /// The queued changes, until the repository has them or reports their rejection.
    private var queued = ProfileChanges()
    /// The saved username, if there are usernames.
    private var savedUsername: String?
    private var checking: Task<Void, Never>?
    /// Whether the last check of the username failed.
    private var checkFailed = false

    /// The content of the form.
    private struct Fields {
        var displayName = ""
        var photoURL: URL?
        var username = ""
    }

    /// The delay between the last key press and the check of a username.
    private static let debounce = Duration.milliseconds(500)

    /// - Parameters:
    ///   - user: the id of the signed-in user.
    ///   - usernames: the repository of usernames; without one, `username` has no effect.
    ///   - photos: the repository of the picture; without one there is no ``photo``.
    public init(
        user: String, users: any UserRepository, usernames: (any ProfileRepository)? = nil,
        photos: (any ProfileRepository)? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) {
        (self.user, self.users, self.usernames, self.clock) = (user, users, usernames, clock)
        photo = photos.map { PhotoModel(photos: $0) }
        photo?.onChange = { [weak self] photo in self?.apply(photo) }
    }

    /// Whether the form differs from the saved values.
    public var hasChanges: Bool { nameChanged || photoURL != saved?.profileImageURL || hasNewUsername }
    /// Whether there is an ``errorMessage``.
    public var showError: Bool { errorMessage != nil }
    /// The fault of the name, as a text for users; also `nil` while the field is empty.
    public var displayNameError: String? { displayName.isEmpty ? nil : User.DisplayNameRule.fault(in: displayName) }

    /// Whether saving is possible now.
    public var canSave: Bool {
        !isLoading && hasChanges && User.DisplayNameRule.fault(in: displayName) == nil && usernameError == nil
            && !isCheckingAvailability && (!hasNewUsername || username.isEmpty || usernameAvailable == true)
            && photo?.isUploading != true
    }

    private var nameChanged: Bool { User.DisplayNameRule.trimmed(displayName) != saved?.displayName ?? "" }
    private var hasNewUsername: Bool { usernames != nil && username != savedUsername ?? "" }

    /// Observes the profile until its task is cancelled, or the user signs out. Unsaved edits stay.
    public func run() async {
        // Both loops end with this method: the account would otherwise continue to report names after a sign-out.
        async let _ = observeRefusals()
        async let _ = observePending()
        async let _ = observeUsernames()
        for await newer in users.userUpdates(of: user) { apply(newer) }
    }

    private func observeRefusals() async {
        for await refusal in users.updateRefusals {
            switch refusal.field {
            case "displayName" where refusal.code == .validationFailed: queued.displayName = .keep
            case "photoURL" where refusal.code == .validationFailed: queued.photoURL = .keep
            default: queued = ProfileChanges()
            }
            if queued == ProfileChanges() { isQueued = false }
            if let heard { apply(heard) }
            (errorMessage, showSuccess) = (refusal.localizedDescription, false)
        }
    }

    private func observePending() async {
        for await isPending in users.pendingUpdates where !isPending { await reload() }
    }

    /// The queue is empty: the profile's current values are shown, which may include a later change by another device.
    private func reload() async {
        guard isQueued else { return }
        isQueued = false
        let newer = try? await users.user(user)
        // Another change may have been queued in the meantime.
        guard !isQueued else { return }
        if let newer {
            queued = ProfileChanges()
            apply(newer)
        }
        showSuccess = errorMessage == nil
    }

    /// Whether a change is queued now; `nil` if the repository does not report it.
    private func isPending() async -> Bool? {
        for await isPending in users.pendingUpdates { return isPending }
        return nil
    }

    private func observeUsernames() async {
        guard let usernames else { return }
        for await newer in usernames.ownUsernames {
            let former = savedUsername
            savedUsername = newer
            if username == former ?? "" { username = newer ?? "" } else { usernameChanged() }
        }
    }

    private func apply(_ newer: User) {
        heard = newer
        let former = saved
        saved = withQueued(newer)
        if displayName == former?.displayName ?? "" { fields.displayName = saved!.displayName }
        if photoURL == former?.profileImageURL { fields.photoURL = saved!.profileImageURL }
        if isQueued, queued == ProfileChanges() {
            isQueued = false
            showSuccess = errorMessage == nil
        }
    }

    /// A picture was uploaded or removed.
    private func apply(_ photo: Photo?) {
        heard?.profileImageURL = photo?.url
        saved?.profileImageURL = photo?.url
        fields.photoURL = photo?.url
        showSuccess = true
    }

    /// Applies queued changes, which count as saved until the repository has them.
    private func withQueued(_ newer: User) -> User {
        var user = newer
        if let name = queued.displayName.value {
            if name == newer.displayName { queued.displayName = .keep } else { user.displayName = name }
        }
        if queued.photoURL != .keep {
            let picture = queued.photoURL.value
            if picture == newer.profileImageURL { queued.photoURL = .keep } else { user.profileImageURL = picture }
        }
        return user
    }

    /// Saves the edits. They count as saved once the repository has accepted them; later edits do not.
    public func save() async {
        guard canSave else { return }
        isLoading = true
        (errorMessage, showSuccess) = (nil, false)
        defer { isLoading = false }
        do {
            // A snapshot, because the user may continue to type.
            let (form, name) = (fields, User.DisplayNameRule.trimmed(displayName))
            let changes = ProfileChanges(
                displayName: nameChanged ? .set(name) : .keep,
                photoURL: photoURL == saved?.profileImageURL ? .keep : Change(photoURL))
            if hasNewUsername { try await saveUsername() }
            if changes != ProfileChanges() { try await save(changes) }
            if fields.displayName == form.displayName { fields.displayName = saved?.displayName ?? name }
            showSuccess = true
        } catch is CancellationError {
        } catch {
            // Another user claimed the name first.
            if let error = error as? PresenceError, error.code == .validationFailed, error.field == "username" {
                (usernameAvailable, usernameError) = (false, error.localizedDescription)
            }
            errorMessage = error.localizedDescription
        }
    }

    private func save(_ changes: ProfileChanges) async throws {
        let update = try await users.update(changes)
        isQueued = update == .queued
        // An element received during the save may be older than the saved change.
        if changes.displayName != .keep { queued.displayName = isQueued ? changes.displayName : .keep }
        if changes.photoURL != .keep { queued.photoURL = isQueued ? changes.photoURL : .keep }
        if case .saved(let user) = update { return apply(user) }
        if let name = changes.displayName.value { saved?.displayName = name }
        if changes.photoURL != .keep { saved?.profileImageURL = changes.photoURL.value }
        // The queued change may have been made already.
        if isQueued, await isPending() == false { await reload() }
    }

    private func saveUsername() async throws {
        let name = username
        if name.isEmpty { try await usernames?.release() } else { try await usernames?.take(name) }
        savedUsername = name.isEmpty ? nil : name
    }

    /// Repeats the failed attempt: the check of the username if that failed, otherwise the save.
    public func retry() async {
        guard checkFailed else { return await save() }
        usernameChanged(debounce: nil)
        await checking?.value
    }

    /// Restores the saved values.
    public func discardChanges() {
        displayName = saved?.displayName ?? ""
        photoURL = saved?.profileImageURL
        username = savedUsername ?? ""
        errorMessage = nil
    }

    /// Sets a field; returns whether the value differs.
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
        // An empty username releases the name.
        guard !username.isEmpty, let usernames else { return }
        usernameError = User.UsernameRule.fault(in: username)
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
        case false?: usernameError = Sentence.usernameTaken.text()
        case nil: usernameError = Sentence.availabilityUnknown.text()
        }
    }
}

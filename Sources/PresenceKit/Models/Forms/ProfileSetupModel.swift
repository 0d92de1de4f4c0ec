import Foundation
import Observation

/// The first form for a new user: a display name, which can be skipped.
@MainActor @Observable
public final class ProfileSetupModel {
    /// The name in the form, cut to the maximum length while it is typed.
    public var displayName: String {
        get { name }
        set { name = String(newValue.prefix(User.DisplayNameRule.maximumLength)) }
    }
    /// The picture that is saved with the name; follows ``photo``.
    public var profileImageURL: URL?
    /// Whether saving or skipping is in progress.
    public private(set) var isLoading = false
    /// Why the last attempt failed, or the fault of the name, as a text for users.
    public private(set) var errorMessage: String?
    /// Whether the form was saved or skipped.
    public private(set) var profileSaved = false
    /// The picture, if there are photos. It is saved as soon as it is chosen.
    public let photo: PhotoModel?

    private var name: String
    /// The name before the user edits it.
    private let standardName: String
    /// The stored picture.
    private var savedImageURL: URL?
    private let users: any UserRepository
    private let setup: (any ProfileRepository)?
    private var lastAttempt: Attempt?

    private enum Attempt {
        case save, skip
    }

    /// Creates the form with the user's name; without a name, with the part of the e-mail address before `@`, or
    /// `User`.
    ///
    /// - Parameters:
    ///   - photos: the repository of the picture; without one there is no ``photo``.
    ///   - setup: stores that the form is completed.
    public init(
        currentUser: User, users: any UserRepository, photos: (any ProfileRepository)? = nil,
        setup: (any ProfileRepository)? = nil
    ) {
        self.users = users
        self.setup = setup
        photo = photos.map { PhotoModel(photos: $0) }
        let ownName = User.DisplayNameRule.trimmed(currentUser.displayName)
        standardName = ownName.isEmpty ? User.DisplayNameRule.standard(for: currentUser.email) : ownName
        name = standardName
        savedImageURL = currentUser.profileImageURL
        profileImageURL = currentUser.profileImageURL
        photo?.onChange = { [weak self] photo in
            self?.savedImageURL = photo?.url
            self?.profileImageURL = photo?.url
        }
    }

    /// Whether a user has not chosen a name yet and still has the default one. A user who skips the form keeps the
    /// default name, so with accounts call `isNeeded(for:)` of PresenceAccounts, which uses the account's record
    /// of the completed form.
    public static func isNeeded(for user: User) -> Bool {
        user.displayName.isEmpty || user.displayName == User.DisplayNameRule.standard(for: user.email)
    }

    /// A text such as `12/50`.
    public var counter: String { "\(displayName.count)/\(User.DisplayNameRule.maximumLength)" }
    /// Whether to highlight the counter: above 45.
    public var isNearLimit: Bool { displayName.count > 45 }
    /// Whether the buttons are enabled: no save or upload is in progress.
    public var canContinue: Bool { !isLoading && photo?.isUploading != true }

    /// The fault of the name, as a text for users.
    public func validateDisplayName() -> String? { User.DisplayNameRule.fault(in: displayName) }

    /// Saves the profile. An invalid name is reported without a request.
    public func saveProfile() async {
        guard !isLoading else { return }
        lastAttempt = .save
        errorMessage = validateDisplayName()
        guard errorMessage == nil else { return }
        await save(User.DisplayNameRule.trimmed(displayName), profileImageURL)
    }

    /// Completes the form with the original name and the stored picture, if any. Edits and an unfinished upload are
    /// discarded.
    public func skipSetup() async {
        guard !isLoading else { return }
        photo?.cancel()
        lastAttempt = .skip
        errorMessage = nil
        await save(standardName, savedImageURL)
    }

    /// Repeats the failed attempt.
    public func retry() async {
        switch lastAttempt {
        case .save: await saveProfile()
        case .skip: await skipSetup()
        case nil: break
        }
    }

    private func save(_ name: String, _ picture: URL?) async {
        isLoading = true
        defer { isLoading = false }
        do {
            let update = try await users.update(
                ProfileChanges(
                    displayName: .set(name), photoURL: picture == savedImageURL ? .keep : Change(picture)))
            savedImageURL = picture
            // A queued change counts as saved. In that case, recording the completed form is optional: without a
            // connection it may fail, and the form may be shown once more.
            if update == .queued { try? await setup?.completeSetup() } else { try await setup?.completeSetup() }
            profileSaved = true
        } catch is CancellationError {
        } catch let error as PresenceError where error.code == .validationFailed && error.field != nil {
            errorMessage = error.localizedDescription
        } catch {
            errorMessage = Sentence.profileNotSaved.text()
        }
    }
}

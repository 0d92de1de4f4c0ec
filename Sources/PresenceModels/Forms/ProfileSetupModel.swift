import Foundation
import Observation
import PresenceDomain

/// The first form that a new user sees: a display name, which may be skipped.
@MainActor @Observable
public final class ProfileSetupModel {
    /// Cut to length while it is typed.
    public var displayName: String {
        get { name }
        set { name = String(newValue.prefix(DisplayNameRule.maximumLength)) }
    }
    public var profileImageURL: URL?
    public private(set) var isLoading = false
    public private(set) var errorMessage: String?
    /// Whether the form is done: saved, or skipped.
    public private(set) var profileSaved = false
    /// The picture, where there are photos: it is saved when it is chosen.
    public let photo: PhotoModel?

    private var name: String
    private let users: any UserRepository
    private let setup: (any SetupRepository)?
    private let currentUser: User
    private var lastAttempt: Attempt?

    private enum Attempt {
        case save, skip
    }

    /// The name is filled in with the part of the e-mail address before `@`, or `User`.
    ///
    /// - Parameters:
    ///   - photos: where the user's picture is stored; without one there is no ``photo``.
    ///   - setup: where it is noted that the form is done.
    public init(
        currentUser: User, users: any UserRepository, photos: (any PhotoRepository)? = nil,
        setup: (any SetupRepository)? = nil
    ) {
        self.currentUser = currentUser
        self.users = users
        self.setup = setup
        photo = photos.map { PhotoModel(photos: $0) }
        name = DisplayNameRule.standard(for: currentUser.email)
        profileImageURL = currentUser.profileImageURL
    }

    /// Whether a user has not chosen a name yet: it is the one that everybody begins with.
    public static func isNeeded(for user: User) -> Bool {
        user.displayName.isEmpty || user.displayName == DisplayNameRule.standard(for: user.email)
    }

    /// Such as `12/50`.
    public var counter: String { "\(displayName.count)/\(DisplayNameRule.maximumLength)" }
    /// Whether the counter warns: above 45.
    public var isNearLimit: Bool { displayName.count > 45 }
    public var canContinue: Bool { !isLoading && photo?.isUploading != true }

    /// What is wrong with the name, for people.
    public func validateDisplayName() -> String? { DisplayNameRule.fault(in: displayName) }

    /// Saves the profile. A fault is told before anything is sent.
    public func saveProfile() async {
        lastAttempt = .save
        errorMessage = validateDisplayName()
        guard errorMessage == nil else { return }
        await save(DisplayNameRule.trimmed(displayName), profileImageURL)
    }

    /// Goes on with the standard name, and without a picture that is not uploaded yet.
    public func skipSetup() async {
        photo?.cancel()
        lastAttempt = .skip
        errorMessage = nil
        await save(DisplayNameRule.standard(for: currentUser.email), nil)
    }

    /// Tries again what failed.
    public func retry() async {
        switch lastAttempt {
        case .save: await saveProfile()
        case .skip: await skipSetup()
        case nil: break
        }
    }

    private func save(_ name: String, _ picture: URL?) async {
        guard !isLoading else { return }
        isLoading = true
        defer { isLoading = false }
        do {
            let update = try await users.update(
                UserChanges(
                    displayName: name, profileImageURL: picture == currentUser.profileImageURL ? nil : .some(picture)))
            // A change that is queued is as good as saved: it will be. What is noted then is only that; without a
            // connection the form may be shown once more.
            if update == .queued { try? await setup?.completeSetup() } else { try await setup?.completeSetup() }
            profileSaved = true
        } catch is CancellationError {
        } catch UserError.invalid(_, let reason) {
            errorMessage = reason
        } catch {
            errorMessage = "Failed to save profile. Please try again."
        }
    }
}

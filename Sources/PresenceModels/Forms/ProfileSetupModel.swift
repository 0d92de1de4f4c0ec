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
    /// The picture that is saved with the name; it follows ``photo``.
    public var profileImageURL: URL?
    /// Whether saving or skipping is under way.
    public private(set) var isLoading = false
    /// Why the last attempt failed, or what is wrong with the name, for people.
    public private(set) var errorMessage: String?
    /// Whether the form is done: saved, or skipped.
    public private(set) var profileSaved = false
    /// The picture, where there are photos: it is saved when it is chosen.
    public let photo: PhotoModel?

    private var name: String
    /// The name that the user begins with.
    private let standardName: String
    /// The picture as it is stored.
    private var savedImageURL: URL?
    private let users: any UserRepository
    private let setup: (any SetupRepository)?
    private var lastAttempt: Attempt?

    private enum Attempt {
        case save, skip
    }

    /// The name is filled in with the user's own if they have one; else with the part of the e-mail address before `@`, or
    /// `User`.
    ///
    /// - Parameters:
    ///   - photos: where the user's picture is stored; without one there is no ``photo``.
    ///   - setup: where it is noted that the form is done.
    public init(
        currentUser: User, users: any UserRepository, photos: (any PhotoRepository)? = nil,
        setup: (any SetupRepository)? = nil
    ) {
        self.users = users
        self.setup = setup
        photo = photos.map { PhotoModel(photos: $0) }
        let ownName = DisplayNameRule.trimmed(currentUser.displayName)
        standardName = ownName.isEmpty ? DisplayNameRule.standard(for: currentUser.email) : ownName
        name = standardName
        savedImageURL = currentUser.profileImageURL
        profileImageURL = currentUser.profileImageURL
        photo?.onChange = { [weak self] photo in
            self?.savedImageURL = photo?.url
            self?.profileImageURL = photo?.url
        }
    }

    /// Whether a user has not chosen a name yet: it is the one that everybody begins with. A user who skips the form keeps that
    /// name, so where there are accounts, ask `isNeeded(for:)` of PresenceAccountModels with the account: it notes that the
    /// form is done.
    public static func isNeeded(for user: User) -> Bool {
        user.displayName.isEmpty || user.displayName == DisplayNameRule.standard(for: user.email)
    }

    /// Such as `12/50`.
    public var counter: String { "\(displayName.count)/\(DisplayNameRule.maximumLength)" }
    /// Whether the counter warns: above 45.
    public var isNearLimit: Bool { displayName.count > 45 }
    /// Whether the buttons make sense now: nothing is being saved or uploaded.
    public var canContinue: Bool { !isLoading && photo?.isUploading != true }

    /// What is wrong with the name, for people.
    public func validateDisplayName() -> String? { DisplayNameRule.fault(in: displayName) }

    /// Saves the profile. A fault is told before anything is sent.
    public func saveProfile() async {
        guard !isLoading else { return }
        lastAttempt = .save
        errorMessage = validateDisplayName()
        guard errorMessage == nil else { return }
        await save(DisplayNameRule.trimmed(displayName), profileImageURL)
    }

    /// Goes on with the name that the user began with, and with the picture that is stored already, if there is one. What was
    /// typed, chosen, or not uploaded yet is dropped.
    public func skipSetup() async {
        guard !isLoading else { return }
        photo?.cancel()
        lastAttempt = .skip
        errorMessage = nil
        await save(standardName, savedImageURL)
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
        isLoading = true
        defer { isLoading = false }
        do {
            let update = try await users.update(
                UserChanges(
                    displayName: name, profileImageURL: picture == savedImageURL ? nil : .some(picture)))
            savedImageURL = picture
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

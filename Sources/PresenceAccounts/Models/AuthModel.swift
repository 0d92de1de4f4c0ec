import Foundation
import Observation
import PresenceKit

/// The forms for sign-up, sign-in and password reset, and the state of the session.
@MainActor @Observable
public final class AuthModel {
    /// The field for the e-mail address; for sign-in also the username.
    public var email: String {
        get { fields.email }
        set { change(\.email, newValue) }
    }
    /// Cleared after use.
    public var password: String {
        get { fields.password }
        set { change(\.password, newValue) }
    }
    /// For sign-up; cut to the maximum length while it is typed.
    public var displayName: String {
        get { fields.displayName }
        set { change(\.displayName, String(newValue.prefix(User.DisplayNameRule.maximumLength))) }
    }

    /// The latest state received by ``run()``.
    public private(set) var state = AuthState.restoring
    /// Whether an operation is in progress. No other one starts until it ends.
    public private(set) var isLoading = false
    /// Why the last operation failed, as a text for users.
    public private(set) var errorMessage: String?
    /// The result of the last operation, as a text for users, such as "Password reset email sent!".
    public private(set) var message: String?

    private let auth: any AccountRepository
    private let passwordRule: User.PasswordRule
    private var fields = Fields()
    private var failed: Action?

    private struct Fields {
        var email = ""
        var password = ""
        var displayName = ""
    }

    private enum Action {
        case signUp, signIn, signOut, resetPassword
        case setPassword(token: String)
    }

    /// - Parameter passwordRule: the server's rule (`accounts.password.minimum`), for the forms with a new password.
    public init(auth: any AccountRepository, passwordRule: User.PasswordRule = User.PasswordRule()) {
        self.auth = auth
        self.passwordRule = passwordRule
    }

    // MARK: Values

    public var currentAccount: Account? { state.account }
    /// Whether a user is signed in.
    public var isAuthenticated: Bool { state.account != nil }
    /// Whether the session is not known yet. Show neither the forms nor the app.
    public var isRestoring: Bool { state == .restoring }

    /// Whether ``email`` is well-formed.
    public var isValidEmail: Bool { User.EmailRule.fault(in: email) == nil }
    /// Whether ``password`` is valid as a new password.
    public var isValidPassword: Bool { passwordRule.fault(in: password) == nil }
    /// Whether ``displayName`` is valid.
    public var isValidDisplayName: Bool { User.DisplayNameRule.fault(in: displayName) == nil }

    /// The fault of the address, as a text for users; also `nil` while the field is empty.
    public var emailError: String? { email.isEmpty ? nil : User.EmailRule.fault(in: email) }
    /// The fault of a new password, as a text for users; also `nil` while the field is empty.
    public var passwordError: String? { password.isEmpty ? nil : passwordRule.fault(in: password) }
    /// The fault of the name, as a text for users; also `nil` while the field is empty.
    public var displayNameError: String? { displayName.isEmpty ? nil : User.DisplayNameRule.fault(in: displayName) }

    /// Whether all three fields are valid.
    public var canSignUp: Bool { !isLoading && isValidEmail && isValidPassword && isValidDisplayName }
    /// Whether sign-in is possible. Here the e-mail may be a username, and the password may be an old one that is
    /// shorter than new passwords must be.
    public var canSignIn: Bool { !isLoading && !User.EmailRule.trimmed(email).isEmpty && !password.isEmpty }
    /// Whether a reset mail can be requested.
    public var canResetPassword: Bool { !isLoading && isValidEmail }

    // MARK: Actions

    /// Observes the session until its task is cancelled.
    public func run() async {
        for await newer in auth.states { state = newer }
    }

    /// Creates an account. Invalid fields are reported without a request. If the server hides whether the address is
    /// new, the user is not signed in, and ``message`` asks them to read their mail.
    public func signUp() async {
        let fault =
            User.DisplayNameRule.fault(in: displayName) ?? User.EmailRule.fault(in: email)
            ?? passwordRule.fault(in: password)
        await perform(.signUp, fault: fault) { [auth, fields] in
            let outcome = try await auth.signUp(
                email: User.EmailRule.trimmed(fields.email), password: fields.password,
                displayName: User.DisplayNameRule.trimmed(fields.displayName))
            switch outcome {
            case .signedIn: return nil
            case .mailSent: return Sentence.followLink.text()
            }
        }
    }

    /// Signs in with ``email`` and ``password``. An empty field is reported without a request.
    public func signIn() async {
        let isEmpty = User.EmailRule.trimmed(email).isEmpty || password.isEmpty
        await perform(.signIn, fault: isEmpty ? Sentence.invalidCredentials.text() : nil) { [auth, fields] in
            try await auth.signIn(email: User.EmailRule.trimmed(fields.email), password: fields.password)
            return nil
        }
    }

    /// Signs out on this device.
    public func signOut() async {
        await perform(.signOut, otherwise: Sentence.signOutFailed.text()) { [auth] in
            try await auth.signOut()
            return nil
        }
    }

    /// Requests a mail for setting a new password.
    public func resetPassword() async {
        await perform(
            .resetPassword, fault: User.EmailRule.fault(in: email), otherwise: Sentence.resetFailed.text()
        ) { [auth, fields] in
            try await auth.resetPassword(email: User.EmailRule.trimmed(fields.email))
            return Sentence.resetSent.text()
        }
    }

    /// Sets ``password`` as the new password, with the token of the mail.
    public func setPassword(token: String) async {
        await perform(.setPassword(token: token), fault: passwordRule.fault(in: password)) { [auth, fields] in
            try await auth.resetPassword(token: token, newPassword: fields.password)
            return Sentence.passwordChanged.text()
        }
    }

    /// Repeats the failed operation.
    public func retry() async {
        switch failed {
        case .signUp: await signUp()
        case .signIn: await signIn()
        case .signOut: await signOut()
        case .resetPassword: await resetPassword()
        case .setPassword(let token): await setPassword(token: token)
        case nil: break
        }
    }

    private func change(_ field: WritableKeyPath<Fields, String>, _ value: String) {
        guard fields[keyPath: field] != value else { return }
        fields[keyPath: field] = value
        (errorMessage, message) = (nil, nil)
    }

    /// - Parameters:
    ///   - fault: an error found before the request.
    ///   - text: shown in place of the error's own text.
    ///   - body: performs the operation and returns the text for users.
    private func perform(
        _ action: Action, fault: String? = nil, otherwise text: String? = nil, _ body: () async throws -> String?
    ) async {
        guard !isLoading else { return }
        failed = nil
        (errorMessage, message) = (fault, nil)
        guard fault == nil else { return }
        isLoading = true
        defer { isLoading = false }
        do {
            message = try await body()
            switch action {
            case .resetPassword: break
            case .signUp, .signIn, .signOut, .setPassword: fields.password = ""
            }
        } catch is CancellationError {
        } catch {
            failed = action
            errorMessage = text ?? (error as? PresenceError)?.localizedDescription ?? Sentence.unexpectedError.text()
        }
    }
}

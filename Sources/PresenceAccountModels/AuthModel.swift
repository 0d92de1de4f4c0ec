import Foundation
import Observation
import PresenceAccounts
import PresenceDomain

/// The forms in which a user signs up, signs in and asks for a new password, and whether somebody is signed in.
@MainActor @Observable
public final class AuthModel {
    /// The field for the e-mail, or when signing in the username.
    public var email: String {
        get { fields.email }
        set { change(\.email, newValue) }
    }
    /// Forgotten when it has been used.
    public var password: String {
        get { fields.password }
        set { change(\.password, newValue) }
    }
    /// For sign-up; cut to length while it is typed.
    public var displayName: String {
        get { fields.displayName }
        set { change(\.displayName, String(newValue.prefix(DisplayNameRule.maximumLength))) }
    }

    /// Who is signed in, as ``run()`` heard it last.
    public private(set) var state = AuthState.restoring
    /// Whether something that was asked for is under way; nothing else begins meanwhile.
    public private(set) var isLoading = false
    /// Why the last thing that was asked for failed, for people.
    public private(set) var errorMessage: String?
    /// What has been done, for people, such as "Password reset email sent!".
    public private(set) var message: String?

    private let auth: any AuthRepository
    private let passwordRule: PasswordRule
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

    /// - Parameter passwordRule: as the server has it (`accounts.password.minimum`), for the forms that take a new one.
    public init(auth: any AuthRepository, passwordRule: PasswordRule = PasswordRule()) {
        self.auth = auth
        self.passwordRule = passwordRule
    }

    // MARK: What is shown

    public var currentAccount: Account? { state.account }
    /// Whether somebody is signed in.
    public var isAuthenticated: Bool { state.account != nil }
    /// Whether it is not known yet: neither the forms nor the app should be shown.
    public var isRestoring: Bool { state == .restoring }

    /// Whether ``email`` may be an address.
    public var isValidEmail: Bool { EmailRule.fault(in: email) == nil }
    /// Whether ``password`` may be a new one.
    public var isValidPassword: Bool { passwordRule.fault(in: password) == nil }
    /// Whether ``displayName`` keeps its rule.
    public var isValidDisplayName: Bool { DisplayNameRule.fault(in: displayName) == nil }

    /// What is wrong with a field, for people; `nil` also while it is empty.
    public var emailError: String? { email.isEmpty ? nil : EmailRule.fault(in: email) }
    /// What is wrong with a new password, for people; `nil` also while it is empty.
    public var passwordError: String? { password.isEmpty ? nil : passwordRule.fault(in: password) }
    /// What is wrong with the name, for people; `nil` also while it is empty.
    public var displayNameError: String? { displayName.isEmpty ? nil : DisplayNameRule.fault(in: displayName) }

    /// Whether all three fields keep their rules.
    public var canSignUp: Bool { !isLoading && isValidEmail && isValidPassword && isValidDisplayName }
    /// The e-mail may be a username here, and an old password may be shorter than a new one must be.
    public var canSignIn: Bool { !isLoading && !EmailRule.trimmed(email).isEmpty && !password.isEmpty }
    /// Whether a mail can be asked for.
    public var canResetPassword: Bool { !isLoading && isValidEmail }

    // MARK: What it does

    /// Follows who is signed in until its task is cancelled.
    public func run() async {
        for await newer in auth.states { state = newer }
    }

    /// Makes an account. A fault is told before anything is sent. Where the server does not say whether the address is new,
    /// nobody is signed in afterwards, and ``message`` tells the user to look into their mail.
    public func signUp() async {
        let fault =
            DisplayNameRule.fault(in: displayName) ?? EmailRule.fault(in: email) ?? passwordRule.fault(in: password)
        await perform(.signUp, fault: fault) { [auth, fields] in
            let outcome = try await auth.signUp(
                email: EmailRule.trimmed(fields.email), password: fields.password,
                displayName: DisplayNameRule.trimmed(fields.displayName))
            switch outcome {
            case .signedIn: return nil
            case .mailSent: return "Please follow the link in the email that we have sent you, then sign in."
            }
        }
    }

    /// Signs in with ``email`` and ``password``. An empty field is told before anything is sent.
    public func signIn() async {
        let isEmpty = EmailRule.trimmed(email).isEmpty || password.isEmpty
        await perform(.signIn, fault: isEmpty ? "Invalid email or password." : nil) { [auth, fields] in
            try await auth.signIn(email: EmailRule.trimmed(fields.email), password: fields.password)
            return nil
        }
    }

    /// Signs out on this device.
    public func signOut() async {
        await perform(.signOut, otherwise: "Failed to sign out.") { [auth] in
            try await auth.signOut()
            return nil
        }
    }

    /// Asks for a mail with which the password can be set anew.
    public func resetPassword() async {
        await perform(
            .resetPassword, fault: EmailRule.fault(in: email), otherwise: "Failed to send reset email."
        ) { [auth, fields] in
            try await auth.resetPassword(email: EmailRule.trimmed(fields.email))
            return "Password reset email sent!"
        }
    }

    /// Sets ``password`` as the new one, with the token of such a mail.
    public func setPassword(token: String) async {
        await perform(.setPassword(token: token), fault: passwordRule.fault(in: password)) { [auth, fields] in
            try await auth.resetPassword(token: token, newPassword: fields.password)
            return "Your password was changed. Please sign in."
        }
    }

    /// Tries again what failed.
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
    ///   - fault: what is wrong before anything is sent.
    ///   - text: what is shown in place of the error's own text.
    ///   - body: does it, and gives back what to tell people.
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
            errorMessage = text ?? (error as? AccountError)?.localizedDescription ?? "An unexpected error occurred."
        }
    }
}

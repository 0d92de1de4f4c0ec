import Foundation
import Observation
import PresenceKit

/// The forms for sign-up, sign-in, guests, codes by mail and password reset, and the state of the session.
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
    /// The code of the mail, or the token of its link. Cleared after use.
    public var code: String {
        get { fields.code }
        set { change(\.code, newValue) }
    }
    /// For sign-up, and if wanted for guests and codes; cut to the maximum length while it is typed.
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
    /// The operation that failed.
    private var failed: Operation?

    private struct Fields {
        var email = ""
        var password = ""
        var code = ""
        var displayName = ""

        var address: String { User.EmailRule.trimmed(email) }
        /// `nil` lets the server choose.
        var name: String? { displayName.isEmpty ? nil : User.DisplayNameRule.trimmed(displayName) }
    }

    private typealias Operation = @MainActor (AuthModel) async -> Void

    /// - Parameter passwordRule: the server's rule (`accounts.password.minimum`), for the forms with a new password.
    public init(auth: any AccountRepository, passwordRule: User.PasswordRule = User.PasswordRule()) {
        self.auth = auth
        self.passwordRule = passwordRule
    }

    // MARK: Values

    public var currentAccount: Account? { state.account }
    /// Whether a user is signed in.
    public var isAuthenticated: Bool { state.account != nil }
    /// Whether a guest is signed in. Show the form for ``upgrade()``.
    public var isGuest: Bool { state.account?.isGuest == true }
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
    public var canSignIn: Bool { !isLoading && !fields.address.isEmpty && !password.isEmpty }
    /// Whether a reset mail can be requested.
    public var canResetPassword: Bool { !isLoading && isValidEmail }
    /// Whether a user can begin as a guest: the name may be empty.
    public var canSignInAsGuest: Bool { !isLoading && displayNameError == nil }
    /// Whether the signed-in guest can get an account: address and password are valid.
    public var canUpgrade: Bool { !isLoading && isGuest && isValidEmail && isValidPassword }
    /// Whether a code can be requested.
    public var canRequestCode: Bool { canResetPassword }
    /// Whether ``code`` can be tried.
    public var canSignInWithCode: Bool { canSignInAsGuest && isValidEmail && !isCodeEmpty }
    private var isCodeEmpty: Bool { code.allSatisfy(\.isWhitespace) }

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
        await perform({ await $0.signUp() }, fault: fault) { [auth, fields] in
            let outcome = try await auth.signUp(
                email: fields.address, password: fields.password, displayName: fields.name)
            return outcome == .mailSent ? .followLink : nil
        }
    }

    /// Signs in with ``email`` and ``password``. An empty field is reported without a request.
    public func signIn() async {
        let isEmpty = fields.address.isEmpty || password.isEmpty
        let fault = isEmpty ? Sentence.invalidCredentials.text() : nil
        await perform({ await $0.signIn() }, fault: fault) { [auth, fields] in
            try await auth.signIn(email: fields.address, password: fields.password)
            return nil
        }
    }

    /// Begins as a guest, with ``displayName`` if it is not empty.
    public func signInAsGuest() async {
        await perform({ await $0.signInAsGuest() }, fault: displayNameError) { [auth, fields] in
            try await auth.signInAsGuest(displayName: fields.name)
            return nil
        }
    }

    /// Gives the signed-in guest ``email`` and ``password``. If the server hides whether the address is new, the user
    /// stays a guest until they open the link in the mail (``message``).
    public func upgrade() async {
        let fault = User.EmailRule.fault(in: email) ?? passwordRule.fault(in: password)
        await perform({ await $0.upgrade() }, fault: fault) { [auth, fields] in
            let outcome = try await auth.upgrade(email: fields.address, password: fields.password)
            return outcome == .mailSent ? .followLinkToUpgrade : nil
        }
    }

    /// Requests a mail with a code for ``signInWithCode()``.
    public func requestCode() async {
        let fault = User.EmailRule.fault(in: email)
        await perform({ await $0.requestCode() }, fault: fault, keepsSecrets: true) { [auth, fields] in
            try await auth.requestCode(email: fields.address)
            return .codeSent
        }
    }

    /// Signs in with ``email`` and ``code``. If the server creates an account (`accounts.mailCodeSignUp`), it has
    /// ``displayName``, if that is not empty. Invalid fields are reported without a request.
    public func signInWithCode() async {
        let fault =
            User.EmailRule.fault(in: email) ?? displayNameError ?? (isCodeEmpty ? Sentence.codeInvalid.text() : nil)
        await perform({ await $0.signInWithCode() }, fault: fault) { [auth, fields] in
            try await auth.signIn(email: fields.address, code: fields.code, displayName: fields.name)
            return nil
        }
    }

    /// Signs out on this device. A guest cannot come back.
    public func signOut() async {
        await perform({ await $0.signOut() }, otherwise: .signOutFailed) { [auth] in
            try await auth.signOut()
            return nil
        }
    }

    /// Requests a mail for setting a new password.
    public func resetPassword() async {
        let fault = User.EmailRule.fault(in: email)
        await perform(
            { await $0.resetPassword() }, fault: fault, otherwise: .resetFailed, keepsSecrets: true
        ) { [auth, fields] in
            try await auth.resetPassword(email: fields.address)
            return .resetSent
        }
    }

    /// Sets ``password`` as the new password, with the token of the mail.
    public func setPassword(token: String) async {
        let fault = passwordRule.fault(in: password)
        await perform({ await $0.setPassword(token: token) }, fault: fault) { [auth, fields] in
            try await auth.resetPassword(token: token, newPassword: fields.password)
            return .passwordChanged
        }
    }

    /// Repeats the failed operation.
    public func retry() async { await failed?(self) }

    private func change(_ field: WritableKeyPath<Fields, String>, _ value: String) {
        guard fields[keyPath: field] != value else { return }
        fields[keyPath: field] = value
        (errorMessage, message) = (nil, nil)
    }

    /// - Parameters:
    ///   - operation: repeats it.
    ///   - fault: an error found before the request.
    ///   - sentence: shown in place of the error's own text.
    ///   - keepsSecrets: whether password and code stay after a success.
    ///   - body: makes the request, and returns the text for users.
    private func perform(
        _ operation: @escaping Operation, fault: String? = nil, otherwise sentence: Sentence? = nil,
        keepsSecrets: Bool = false, _ body: () async throws -> Sentence?
    ) async {
        guard !isLoading else { return }
        failed = nil
        (errorMessage, message) = (fault, nil)
        guard fault == nil else { return }
        isLoading = true
        defer { isLoading = false }
        do {
            message = try await body()?.text()
            if !keepsSecrets { (fields.password, fields.code) = ("", "") }
        } catch is CancellationError {
        } catch {
            failed = operation
            let text = (error as? PresenceError)?.localizedDescription
            errorMessage = sentence?.text() ?? text ?? Sentence.unexpectedError.text()
        }
    }
}

// The part of Apple's AuthenticationServices that PresenceAccounts uses, for the type checker.
import Foundation

// Of Apple's Foundation.
extension PersonNameComponents {
    public func formatted() -> String { "" }
}

public class ASAuthorizationRequest {}
public class ASAuthorizationAppleIDRequest: ASAuthorizationRequest {
    public var requestedScopes: [ASAuthorization.Scope]?
    public var nonce: String?
}
public class ASAuthorizationAppleIDProvider {
    public init() {}
    public func createRequest() -> ASAuthorizationAppleIDRequest { .init() }
}

public protocol ASAuthorizationCredential {}
public class ASAuthorizationAppleIDCredential: ASAuthorizationCredential {
    public var identityToken: Data? { nil }
    public var fullName: PersonNameComponents? { nil }
}

public class ASAuthorization {
    public struct Scope: Sendable {
        public static let fullName = Scope()
    }

    public var credential: any ASAuthorizationCredential { ASAuthorizationAppleIDCredential() }
}

public struct ASAuthorizationError: Error {
    public enum Code: Sendable { case canceled }
    public let code: Code
}

@MainActor public protocol ASAuthorizationControllerDelegate: NSObjectProtocol {
    func authorizationController(
        controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization)
    func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error)
}

@MainActor public class ASAuthorizationController {
    public init(authorizationRequests: [ASAuthorizationRequest]) {}
    public weak var delegate: (any ASAuthorizationControllerDelegate)?
    public func performRequests() {}
}

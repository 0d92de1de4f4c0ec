import PresenceProtocol
import WebSockets

/// An upload before its body is received.
package struct UploadHead {
    /// The ids in its path, in order.
    package let ids: [Identifier]
    package let request: HTTPRequest
    package let caller: HTTPCaller
}

/// Checks an upload by its head: returns to accept the body, or throws the error to respond with.
package typealias UploadJudge = (UploadHead) async throws(Refusal) -> Void

import PresenceProtocol
import WebSockets

/// An upload before its body comes.
package struct UploadHead {
    /// Those of its path, in their order.
    package let ids: [Identifier]
    package let request: HTTPRequest
    package let caller: HTTPCaller
}

/// Judges an upload by its head: returns to let the body come, or throws what is answered instead.
package typealias UploadJudge = (UploadHead) async throws(Refusal) -> Void

import Foundation

/// What the user chose for all their devices, as the server holds it.
public struct MyStatus: Codable, Hashable, Sendable {
    /// What the user chose; others see what follows from it, and from what the devices do.
    public var status: ChosenStatus
    /// The status text; `nil` without one.
    public var text: String?
    /// When status and text go back to `auto` and none, by the server's clock.
    public var clearsAt: Date?
    /// Whether this is the truth of this moment.
    public var freshness: Freshness
    /// Why nothing newer comes: the client is closed, as ``PersonPresence/problem``. With a freshness of
    /// ``Freshness/unknown`` the status was never known.
    public var problem: PresenceError?

    /// Makes a status, as a fake or a preview needs it.
    public init(
        status: ChosenStatus, text: String? = nil, clearsAt: Date? = nil, freshness: Freshness,
        problem: PresenceError? = nil
    ) {
        self.status = status
        self.text = text
        self.clearsAt = clearsAt
        self.freshness = freshness
        self.problem = problem
    }
}

import Foundation
import PresenceProtocol

// Requests of attached libraries, and their replies.
extension Engine {
    /// Handles a reply, or a part of one, to a request of an attached library. Returns false if the message is no such
    /// reply; errors are handled elsewhere.
    mutating func answerOther(_ message: ServerMessage, _ bytes: [UInt8], at now: Moment) -> Bool {
        guard let id = message.answerID, case .other(let other, let call, var parts) = requests[id] else {
            return false
        }
        parts.append(bytes)
        if message.hasMore {
            requests.update(id, .other(other, call, parts: parts))
        } else {
            _ = requests.take(id)
            answer(call, .success(.other(parts.map { Data($0) })))
        }
        return true
    }
}

extension ServerMessage {
    /// The id of the answered request, for those types of replies that an attached library may have requested.
    fileprivate var answerID: Int64? {
        switch self {
        case .ok(let id): id
        case .subscribed(let id, _, _, _), .conversationCreated(let id, _), .unsubscribed(let id),
            .unknown(_, let id, _):
            id
        default: nil
        }
    }

    fileprivate var hasMore: Bool {
        switch self {
        case .subscribed(_, _, _, let more), .unknown(_, _, let more): more
        default: false
        }
    }
}

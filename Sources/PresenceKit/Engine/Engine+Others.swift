import Foundation
import PresenceProtocol

// Requests that other libraries know, and their answers.
extension Engine {
    /// Takes an answer, or a part of one, to a request of another library; whether it was one. A refusal is none.
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
    /// The number of the request that it answers, of those answers that another library may have asked for.
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

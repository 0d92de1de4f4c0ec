import Foundation
import PresenceProtocol

/// The arguments of a call's query: `?from=MS&to=MS&limit=N&viewer=ID`. Other names are ignored.
struct HistoryQuery: Equatable {
    /// Intervals that ended at or before this time are left out.
    var from: Timestamp = 0
    /// Intervals that began at or after this time are left out.
    var to: Timestamp = .max
    var limit = Self.most
    /// The user whose view applies; `nil`: the backend's own.
    var viewer: UserID?

    static let most = 1_000

    init(_ query: String) throws(DecodingFailure) {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let value = parts.count == 2 ? parts[1] : ""
            switch parts[0] {
            case "from": from = try Self.time(value, "from")
            case "to": to = try Self.time(value, "to")
            case "limit":
                guard let number = Int(value), 1...Self.most ~= number else {
                    throw .invalid("limit", "must be from 1 to \(Self.most)")
                }
                limit = number
            case "viewer":
                guard let user = value.removingPercentEncoding.flatMap({ UserID($0) }) else {
                    throw .invalid("viewer", "must be 1 to 128 bytes of printable ASCII without space")
                }
                viewer = user
            default: break
            }
        }
        guard from <= to else { throw .invalid("from", "must not be after to") }
    }

    private static func time(_ text: String, _ field: String) throws(DecodingFailure) -> Timestamp {
        guard let time = Int64(text), time >= 0 else {
            throw .invalid(field, "must be a time in milliseconds since 1970")
        }
        return time
    }

    /// The newest `limit` matching intervals, the oldest first, and whether there are older ones.
    func page(of intervals: [PastInterval], keptFrom: Timestamp) -> (page: [PastInterval], more: Bool) {
        let wanted = intervals.filter { interval in
            let end = interval.to ?? .max
            return end > from && end > keptFrom && interval.from < to
        }
        return (Array(wanted.suffix(limit)), wanted.count > limit)
    }
}

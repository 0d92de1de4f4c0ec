import Foundation
import PresenceProtocol

/// The arguments of a call's query: `?from=MS&to=MS&limit=N&viewer=ID`. Other names are ignored.
struct HistoryQuery: Equatable {
    /// Intervals that ended at or before this time are left out.
    var from: Timestamp = 0
    /// Intervals that began at or after this time are left out.
    var to: Timestamp = .max
    let limit: Int
    /// The user whose view applies; `nil`: the backend's own.
    var viewer: UserID?

    static let most = 1_000

    init(_ query: String) throws(DecodingFailure) {
        let members = CallQuery(query)
        limit = try members.limit(Self.most, most: Self.most)
        if let text = members["from"] { from = try Self.time(text, "from") }
        if let text = members["to"] { to = try Self.time(text, "to") }
        if let text = members["viewer"] {
            viewer = text.removingPercentEncoding.flatMap { UserID($0) }
            guard viewer != nil else {
                throw .invalid("viewer", "must be 1 to 128 bytes of printable ASCII without space")
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

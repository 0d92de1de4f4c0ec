import PresenceProtocol

/// The members of a call's query, `?NAME=VALUE&…`, as they were sent. Unknown names are ignored.
struct CallQuery {
    private var values: [String: String] = [:]

    init(_ query: String) {
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            values[parts[0]] = parts.count == 2 ? parts[1] : ""
        }
    }

    subscript(name: String) -> String? { values[name] }

    func number(_ name: String) throws(DecodingFailure) -> Int64? {
        guard let value = self[name] else { return nil }
        guard let number = Int64(value) else { throw .invalid(name, "must be a number") }
        return number
    }

    /// `limit=N`.
    func limit(_ standard: Int, most: Int) throws(DecodingFailure) -> Int {
        guard let value = self["limit"] else { return standard }
        guard let number = Int(value), 1...most ~= number else { throw .invalid("limit", "must be from 1 to \(most)") }
        return number
    }
}

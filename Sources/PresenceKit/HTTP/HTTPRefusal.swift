import Foundation

/// The content of an error response.
package struct HTTPRefusal: Sendable {
    /// The status code, such as 403.
    package var status: Int
    /// The protocol's code; `nil` if the response came from something in front of the server.
    package var code: String?
    /// The exact reason, for programs.
    package var reason: String?
    /// The member of the request that is at fault.
    package var field: String?
    /// The reason in English, for developers and logs.
    package var message: String
    package var retryAfter: Duration?
    package var until: Date?
    package var outcomeUnknown: Bool

    /// Whether the status is that of a temporary error.
    package var isPassing: Bool { Self.isPassing(status) }
    private static func isPassing(_ status: Int) -> Bool { status == 429 || status == 503 }

    /// Reads the protocol's error object, or the response of a proxy.
    package init(_ response: HTTPResponse) {
        struct Message: Decodable {
            var type: String
            var code: String
            var reason: String?
            var field: String?
            var message: String?
            var retryAfter: Double?
            var until: Int64?
            var outcomeUnknown: Bool?
        }
        status = response.status
        guard let error = try? JSONDecoder().decode(Message.self, from: response.body), error.type == "error" else {
            message = "HTTP status \(status)"
            // From a proxy, so the number may have any size.
            retryAfter = response.headers["retry-after"].flatMap(Int.init).map {
                .seconds(min(max($0, 0), 1 << 30))
            }
            outcomeUnknown = status >= 500 && !Self.isPassing(status)
            return
        }
        code = error.code
        reason = error.reason
        field = error.field
        message = error.message ?? ""
        retryAfter = error.retryAfter.map { .milliseconds(min(max($0, 0), 1e12)) }
        until = error.until.map(Date.init(timestamp:))
        outcomeUnknown = error.outcomeUnknown ?? false
    }
}

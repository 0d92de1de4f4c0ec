import Foundation

/// What an answer with an error says.
package struct HTTPRefusal: Sendable {
    /// The status code, such as 403.
    package var status: Int
    /// The protocol's code; `nil` for an answer of something that stands before the server.
    package var code: String?
    /// What exactly is wrong, for programs.
    package var reason: String?
    /// The member of the request that it is about.
    package var field: String?
    /// For developers and logs, in English.
    package var message: String
    package var retryAfter: Duration?
    package var outcomeUnknown: Bool

    /// Whether it is passing by its status: too much at the moment.
    package var isPassing: Bool { Self.isPassing(status) }
    private static func isPassing(_ status: Int) -> Bool { status == 429 || status == 503 }

    /// Reads the protocol's error object, or what a proxy says in its place.
    package init(_ response: HTTPResponse) {
        struct Message: Decodable {
            var type: String
            var code: String
            var reason: String?
            var field: String?
            var message: String?
            var retryAfter: Double?
            var outcomeUnknown: Bool?
        }
        status = response.status
        guard let error = try? JSONDecoder().decode(Message.self, from: response.body), error.type == "error" else {
            message = "HTTP status \(status)"
            // A proxy's word: any number may stand there.
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
        outcomeUnknown = error.outcomeUnknown ?? false
    }
}

import PresenceProtocol

/// What a request line asks for, by its path as it came: split at the slashes, then each part percent-decoded. So an id
/// may hold anything that an id may, encoded, and can never reach beyond its place.
enum Route {
    case health, readiness, metrics, webSocket
    case api(Call)
    case badID(Audience)
    case badEscape
    case otherMethod(allowed: String, Audience)
    case unknown

    /// For whom there is something at a path.
    enum Audience {
        case everyone
        /// Users' programs, over a WebSocket.
        case clients
        /// Users, and backends.
        case users
        case backends
        case operators
    }

    /// `nil` where there is nothing.
    var audience: Audience? {
        switch self {
        case .health, .readiness: .everyone
        case .metrics: .operators
        case .webSocket: .clients
        case .api(let call): call.isForUsers ? .users : .backends
        case .badID(let audience), .otherMethod(_, let audience): audience
        case .badEscape, .unknown: nil
        }
    }

    enum Call {
        case user(UserID)
        case users
        case profile(UserID)
        case disconnect(UserID)
        case revokeTokens(UserID)
        case visibility(UserID)
        case setVisibility(UserID)
        case changeContacts(UserID)
        case changeBlocks(UserID)
        case setParticipants(ConversationID)
        case removeParticipants(ConversationID)

        /// Users may read users; everything else is for backends.
        var isForUsers: Bool {
            switch self {
            case .user, .users: true
            default: false
            }
        }
    }

    init(_ method: String, _ target: String) {
        guard target.utf8.first == UInt8(ascii: "/") else {
            self = .unknown
            return
        }
        var parts: [[UInt8]] = []
        for part in target.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let decoded = Self.decoded(part) else {
                self = .badEscape
                return
            }
            parts.append(decoded)
        }
        self = Self.route(method, parts.map { String(decoding: $0, as: UTF8.self) })
    }

    private static func route(_ method: String, _ parts: [String]) -> Route {
        switch parts.count {
        case 1 where parts[0] == "healthz": return reading(method, .health)
        case 1 where parts[0] == "readyz": return reading(method, .readiness)
        case 1 where parts[0] == "metrics": return reading(method, .metrics)
        case 2 where parts == ["v1", "ws"]: return reading(method, .webSocket)
        case 3 where parts == ["v1", "users", "get"] && method == "POST": return .api(.users)
        case 3 where parts[0] == "v1" && parts[1] == "users":
            let allowed = parts[2] == "get" ? "GET, POST" : "GET"
            return call(method, parts[2], ["GET": Call.user], allowed, for: .users)
        case 4 where parts[0] == "v1" && parts[1] == "users" && parts[3] == "profile":
            return call(method, parts[2], ["PATCH": Call.profile], "PATCH")
        case 4 where parts[0] == "v1" && parts[1] == "users" && parts[3] == "disconnect":
            return call(method, parts[2], ["POST": Call.disconnect], "POST")
        case 4 where parts[0] == "v1" && parts[1] == "users" && parts[3] == "revokeTokens":
            return call(method, parts[2], ["POST": Call.revokeTokens], "POST")
        case 4 where parts[0] == "v1" && parts[1] == "users" && parts[3] == "visibility":
            return call(method, parts[2], ["GET": Call.visibility, "PATCH": Call.setVisibility], "GET, PATCH")
        case 4 where parts[0] == "v1" && parts[1] == "users" && parts[3] == "contacts":
            return call(method, parts[2], ["PATCH": Call.changeContacts], "PATCH")
        case 4 where parts[0] == "v1" && parts[1] == "users" && parts[3] == "blocks":
            return call(method, parts[2], ["PATCH": Call.changeBlocks], "PATCH")
        case 4 where parts[0] == "v1" && parts[1] == "conversations" && parts[3] == "participants":
            return call(
                method, parts[2], ["PUT": Call.setParticipants, "DELETE": Call.removeParticipants], "PUT, DELETE")
        default: return .unknown
        }
    }

    private static func reading(_ method: String, _ route: Route) -> Route {
        method == "GET" || method == "HEAD" ? route : .otherMethod(allowed: "GET, HEAD", route.audience ?? .everyone)
    }

    private static func call(
        _ method: String, _ id: String, _ calls: [String: (Identifier) -> Call], _ allowed: String,
        for audience: Audience = .backends
    ) -> Route {
        guard let make = calls[method] else { return .otherMethod(allowed: allowed, audience) }
        guard let id = Identifier(id) else { return .badID(audience) }
        return .api(make(id))
    }

    /// The bytes of a part of a path; `nil` for a percent sign that encodes nothing.
    private static func decoded(_ part: Substring.UTF8View) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = part[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexDigit), let low = rest.popFirst().flatMap(hexDigit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

import PresenceProtocol

/// What a request line asks for.
///
/// Ids may hold a slash, and paths arrive percent-decoded; so an id is what lies between the path's fixed ends, of
/// which each method has only one pair.
enum Route {
    case health, readiness, metrics, webSocket
    case api(Call)
    case badID
    case otherMethod(allowed: String)
    case unknown

    enum Call {
        case user(UserID)
        case users
        case profile(UserID)
        case disconnect(UserID)
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

    static let webSocketPath = "/v1/ws"

    init(_ method: String, _ path: String) {
        let fixed: [String: Route] = [
            "/healthz": .health, "/readyz": .readiness, "/metrics": .metrics, Self.webSocketPath: .webSocket,
        ]
        if let route = fixed[path] {
            self = method == "GET" || method == "HEAD" ? route : .otherMethod(allowed: "GET")
        } else if path == "/v1/users/get" {
            self = method == "POST" ? .api(.users) : .otherMethod(allowed: "POST")
        } else if let id = Self.part(of: path, "/v1/conversations/", "/participants") {
            switch method {
            case "PUT": self = Self.call(id) { .setParticipants($0) }
            case "DELETE": self = Self.call(id) { .removeParticipants($0) }
            default: self = .otherMethod(allowed: "PUT, DELETE")
            }
        } else if method == "PATCH", let id = Self.part(of: path, "/v1/users/", "/profile") {
            self = Self.call(id) { .profile($0) }
        } else if method == "POST", let id = Self.part(of: path, "/v1/users/", "/disconnect") {
            self = Self.call(id) { .disconnect($0) }
        } else if method == "GET", let id = Self.part(of: path, "/v1/users/", "") {
            self = Self.call(id) { .user($0) }
        } else if Self.part(of: path, "/v1/users/", "/profile") != nil {
            self = .otherMethod(allowed: "PATCH")
        } else if Self.part(of: path, "/v1/users/", "/disconnect") != nil {
            self = .otherMethod(allowed: "POST")
        } else if Self.part(of: path, "/v1/users/", "") != nil {
            self = .otherMethod(allowed: "GET")
        } else {
            self = .unknown
        }
    }

    private static func call(_ id: Substring, _ make: (Identifier) -> Call) -> Route {
        Identifier(String(id)).map { .api(make($0)) } ?? .badID
    }

    private static func part(of path: String, _ prefix: String, _ suffix: String) -> Substring? {
        guard path.hasPrefix(prefix), path.hasSuffix(suffix), path.utf8.count > prefix.utf8.count + suffix.utf8.count
        else { return nil }
        return path.dropFirst(prefix.count).dropLast(suffix.count)
    }
}

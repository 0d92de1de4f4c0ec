import PresenceProtocol
import WebSockets

/// The target of a request line. The path is split at the slashes, then each part is percent-decoded. So an id may
/// contain any of its allowed characters, encoded, and never extends beyond its part.
package enum Route {
    case health, readiness, metrics, webSocket
    case api(HTTPRouteEntry, [Identifier])
    case badID(Audience)
    case badEscape
    case otherMethod(allowed: String, Audience)
    case unknown

    /// The callers that a path serves.
    package enum Audience {
        /// Needs no token, and ignores one.
        case everyone
        /// Needs no token. A user's valid token identifies the caller; an invalid one is ignored.
        case usersOrAnyone
        /// Users' programs, over a WebSocket.
        case clients
        /// Users, and backends.
        case users
        case backends
        case operators
        /// Pages for operators, which need no token. If operators and backends have a port of their own, the pages are
        /// only there; otherwise they are only for this machine.
        case admins
        /// The calls of these pages, with a backend's token. They are where the pages are.
        case adminCalls
    }

    /// `nil` if there is no such path.
    var audience: Audience? {
        switch self {
        case .health, .readiness: .everyone
        case .metrics: .operators
        case .webSocket: .clients
        case .api(let call, _): call.audience
        case .badID(let audience), .otherMethod(_, let audience): audience
        case .badEscape, .unknown: nil
        }
    }

    /// - Parameter routes: All registered calls.
    init(_ method: String, _ target: String, in routes: [HTTPRouteEntry]) {
        guard target.utf8.first == UInt8(ascii: "/") else {
            self = .unknown
            return
        }
        if target == "/v1/ws" {
            self = Self.reading(method, .webSocket)
            return
        }
        guard let parts = Self.parts(of: target) else {
            self = .badEscape
            return
        }
        self = Self.route(method, parts, in: routes)
    }

    /// The parts between the slashes, decoded; `nil` for an invalid percent encoding.
    static func parts(of target: String) -> [String]? {
        var parts: [String] = []
        for part in target.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let decoded = decoded(part) else { return nil }
            parts.append(String(decoding: decoded, as: UTF8.self))
        }
        return parts
    }

    private static func route(_ method: String, _ parts: [String], in routes: [HTTPRouteEntry]) -> Route {
        switch parts.count {
        case 1 where parts[0] == "healthz": reading(method, .health)
        case 1 where parts[0] == "readyz": reading(method, .readiness)
        case 1 where parts[0] == "metrics": reading(method, .metrics)
        case 2 where parts == ["v1", "ws"]: reading(method, .webSocket)
        default: call(method, routes.filter { $0.matches(parts) }, parts)
        }
    }

    /// Whether the core handles this path, whatever features have registered.
    static func isCore(_ path: String) -> Bool { ["/healthz", "/readyz", "/metrics", "/v1/ws"].contains(path) }

    private static func reading(_ method: String, _ route: Route) -> Route {
        method == "GET" || method == "HEAD" ? route : .otherMethod(allowed: "GET, HEAD", route.audience ?? .everyone)
    }

    /// Two calls may match a path: `/v1/users/get` is also that of the user `get`.
    private static func call(_ method: String, _ routes: [HTTPRouteEntry], _ parts: [String]) -> Route {
        guard let first = routes.first else { return .unknown }
        // The call with more literal parts. HEAD is available wherever GET is (RFC 9110, 9.3.2): the body is not sent.
        func named(_ method: String) -> HTTPRouteEntry? {
            routes.filter { $0.method == method }.max { $0.named < $1.named }
        }
        guard let route = named(method) ?? (method == "HEAD" ? named("GET") : nil) else {
            var methods = routes.map(\.method)
            if let place = methods.firstIndex(of: "GET"), !methods.contains("HEAD") {
                methods.insert("HEAD", at: place + 1)
            }
            return .otherMethod(allowed: methods.joined(separator: ", "), first.audience)
        }
        guard let ids = route.ids(in: parts) else { return .badID(route.audience) }
        return .api(route, ids)
    }

    /// The decoded bytes of a part of a path; `nil` for an invalid percent encoding.
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

/// A call that a feature has registered.
package struct HTTPRouteEntry {
    package let method: String
    /// As registered.
    package let path: String
    package let audience: Route.Audience
    /// The right that a bearer token of a feature needs for it; `nil` if no such token suffices.
    package let scope: CallScope?
    let limits: RouteLimits
    /// Its body is written to a file.
    let isUpload: Bool
    /// Whether its handler gets a body. Reading methods ignore one.
    var hasBody: Bool { method != "GET" && method != "HEAD" }
    /// Checks an upload by its head.
    let judge: UploadJudge?
    let rates: RouteRates?
    package let handle: (HTTPCall) throws(DecodingFailure) -> Void
    /// `nil` for an id or a text.
    private let parts: [String?]
    /// The indices of texts.
    private let textPlaces: Set<Int>
    /// The number of literal parts.
    package var named: Int { parts.count { $0 != nil } }

    init(
        method: String, path: String, audience: Route.Audience, scope: CallScope? = nil, limits: RouteLimits = .init(),
        isUpload: Bool = false, judge: UploadJudge? = nil,
        handle: @escaping (HTTPCall) throws(DecodingFailure) -> Void
    ) {
        self.method = method
        self.path = path
        self.audience = audience
        self.scope = scope
        var limits = limits
        if !Route.needsToken(audience), !isUpload {
            limits.bodyBytes = min(limits.bodyBytes, RouteLimits.mostWithoutToken)
        }
        self.limits = limits
        self.isUpload = isUpload
        self.judge = judge
        rates = RouteRates(limits.rate)
        self.handle = handle
        // As in the path of a call: `/` has one part, which is empty.
        let words = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        parts = words.map { ["{id}", "{text}"].contains($0) ? nil : String($0) }
        textPlaces = Set(words.indices.filter { words[$0] == "{text}" })
    }

    func matches(_ path: [String]) -> Bool {
        path.count == parts.count && zip(parts, path).allSatisfy { $0 == nil || $0 == $1 }
    }

    /// Whether a call could match both, and neither has more literal parts.
    func collides(with other: HTTPRouteEntry) -> Bool {
        method == other.method && parts.count == other.parts.count && named == other.named
            && zip(parts, other.parts).allSatisfy { $0 == nil || $1 == nil || $0 == $1 }
    }

    /// `nil` if one of them is invalid.
    package func ids(in path: [String]) -> [Identifier]? {
        let texts = parts.indices.filter { parts[$0] == nil && !textPlaces.contains($0) }.map { path[$0] }
        let ids = texts.compactMap { Identifier($0) }
        return ids.count == texts.count ? ids : nil
    }

    /// The texts in a path that matches this entry.
    func texts(in path: String) -> [String] {
        guard !textPlaces.isEmpty, let words = Route.parts(of: path) else { return [] }
        return textPlaces.sorted().map { words[$0] }
    }
}

/// An upload before its body is received.
package struct UploadHead {
    /// The ids in its path, in order.
    package let ids: [Identifier]
    package let request: HTTPRequest
    package let caller: HTTPCaller
}

/// Checks an upload by its head: returns to accept the body, or throws the error to respond with.
package typealias UploadJudge = (UploadHead) async throws(Refusal) -> Void

/// The author of a call.
package enum HTTPCaller: Sendable, Equatable {
    /// The route needs no token, and the call had no valid token of a user.
    case anyone
    /// With the user's own token.
    case user(UserID)
    /// With a token of the installation, or a key with the call's scope: it may see and do everything that the call can.
    case backend
}

extension Route {
    /// Whether a caller has to send a token.
    static func needsToken(_ audience: Audience) -> Bool {
        switch audience {
        case .everyone, .usersOrAnyone, .admins: false
        case .clients, .users, .backends, .operators, .adminCalls: true
        }
    }
}

import EventLoops
import Foundation
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// The console at `/console`: pages on which operators see what the servers do and which users are online, and the calls that
/// only these pages need. Its data is read over HTTP with a backend's token.
final class Console: Feature {
    static let plan = FeaturePlan(name: "console", settings: [enabled], pools: [doctorThread, redisThread])

    unowned let shard: ShardLogic
    let state: ConsoleState
    /// The traces for which this shard receives events.
    var traces: [Trace] = []
    var endOfTraces: DeadlineKind!

    init(_ shard: ShardLogic) {
        self.shard = shard
        state = shard.shared.object { ConsoleState() }
    }

    func register(in registry: inout Registry) {
        guard shard.configuration[Console.enabled] else { return }
        for file in WebFile.console(picturesAt: shard.configuration.photoBucketOrigin) {
            for method in ["GET", "HEAD"] {
                registry.route(method, file.path, for: .admins) { [unowned self] call in serve(file, call) }
            }
        }
        registry.sessionEnded.append { [unowned self] in record($0) }
        registry.leadFromSlash(to: "/console", for: .admins)
        registry.route(
            "GET", "/v1/console/servers", for: .adminCalls, answer: { [unowned self] _ in try await servers() })
        registry.route(
            "GET", "/v1/console/people", for: .adminCalls, answer: { [unowned self] in try await people($0) })
        registry.route("GET", "/v1/console/search", for: .adminCalls) { [unowned self] (call) throws(DecodingFailure) in
            try search(call)
        }
        registry.route("GET", "/v1/console/totals", for: .adminCalls) { [unowned self] in totals($0) }
        registry.route(
            "GET", "/v1/users/{id}/sessions", scope: .usersRead,
            answer: { [unowned self] in try await sessions(of: $0.ids[0]) })
        registry.route("GET", "/v1/console/view", for: .adminCalls) { [unowned self] (call) throws(DecodingFailure) in
            try view(call)
        }
        registry.route("GET", "/v1/console/doctor", for: .adminCalls) { [unowned self] in report($0) }
        registry.route("POST", "/v1/console/doctor", for: .adminCalls) { [unowned self] in examine($0) }
        registry.route("GET", "/v1/console/outbox", for: .adminCalls) { [unowned self] in outbox($0) }
        registry.route(
            "GET", "/v1/console/conversations", for: .adminCalls,
            answer: { [unowned self] in try await conversations($0) })
        registry.route("GET", "/v1/console/webhooks", for: .adminCalls) { [unowned self] in webhooks($0) }
        registry.route("POST", "/v1/console/webhooks/{id}/retry", for: .adminCalls) { [unowned self] in retryWebhook($0)
        }
        registry.route("GET", "/v1/console/trace", for: .adminCalls) { [unowned self] (call) throws(DecodingFailure) in
            try trace(call)
        }
        registry.route("POST", "/v1/console/playground", for: .adminCalls) { [unowned self] in playground($0) }
        endOfTraces = registry.deadline { [unowned self] _ in endTraces() }
    }

    func becameStale() { record("lost") }

    func becameLive() {
        state.ends.begin(at: shard.clock.redisNow)
        record("live")
    }

    private func record(_ what: StaticString) {
        for trace in traces { trace.record(what, at: shard.clock.redisNow, now: shard.clock.now) }
    }

    /// The value of a member of a call's query.
    static func member(_ name: String, in call: HTTPCall) -> String? {
        CallQuery(call.request.query)[name].map { $0.removingPercentEncoding ?? "" }
    }

    /// An id in a call's query.
    static func id(_ name: String, in call: HTTPCall) throws(DecodingFailure) -> Identifier {
        guard let text = member(name, in: call) else { throw .missing(name) }
        guard let id = Identifier(text) else {
            throw .invalid(name, "must be 1 to 128 bytes of printable ASCII without space")
        }
        return id
    }

    /// Without a port for operators and backends, only this machine can open the pages.
    private func serve(_ file: WebFile, _ call: HTTPCall) {
        call.serve(file.bytes, as: file.content)
    }
}

extension Console {
    static let enabled = Setting<Bool>(
        "console.enabled", false,
        about:
            "Whether the server has a console for operators at /console: on api.port, or without one for this machine only."
    )
}

/// The mails in the outbox, in development without a mail server.
extension Console {
    func outbox(_ call: HTTPCall) {
        let configuration = shard.configuration
        call.work(.files) {
            (try? Outbox(configuration).entries()).flatMap { try? JSONEncoder().encode(Array($0.suffix(100))) }
        } then: { found in
            guard let found else { return call.refuse(500, .internal, "the outbox cannot be read") }
            call.respond(.json(200, Array(#"{"mails":"#.utf8) + found + [UInt8(ascii: "}")]))
        }
    }
}

/// Shows one user as another sees them: the same response as for a read with that user's own token.
extension Console {
    func view(_ call: HTTPCall) throws(DecodingFailure) {
        let (user, viewer) = (try Self.id("user", in: call), try Self.id("viewer", in: call))
        let people = [user, viewer].map { shard.watchers.hold(person: $0) }
        shard.loader.load(people) { [self] outcome in
            defer { people.forEach(shard.watchers.release) }
            guard outcome == .loaded, let shown = shard.feature(Watching.self)?.shown(people[0], to: viewer) else {
                return call.refuse(
                    503, .init(code: .unavailable, message: "the store is out of reach", retryAfter: 1_000))
            }
            call.respond(.json(200, shown.json))
        }
    }
}

/// Tokens for the playground's two phones, on which operators can try things out.
extension Console {
    /// In ms. The page asks for new ones earlier.
    private static let playgroundToken: Milliseconds = 3_600_000
    private static let players = [("playground-ana", "Ana"), ("playground-ben", "Ben")]

    func playground(_ call: HTTPCall) {
        guard shard.configuration.api.port == nil else {
            return call.refuse(
                404, .notFound, "clients have a port of their own here (api.port), which this page does not reach")
        }
        let phones = Self.players.compactMap { id, name in
            UserID(id).flatMap { shard.sign($0, nil, Self.playgroundToken, shard.clock.redisNow) }.map { token in
                #"{"user":"\#(id)","displayName":"\#(name)","token":\#(JSONWriter.encoded(token))}"#
            }
        }
        guard phones.count == Self.players.count else {
            return call.refuse(404, .notFound, "this server makes no tokens: it has no secret of its own")
        }
        call.respond(
            .json(200, #"{"phones":[\#(phones.joined(separator: ","))],"expiresIn":\#(Self.playgroundToken)}"#))
    }
}

/// The console's state that all shards of a server share.
final class ConsoleState: Sendable {
    let ends = SessionEnds()
    /// All traces, by subject. The shard that created a trace receives its events.
    let traces = Locked<[String: Trace]>([:])
    /// The last run of the doctor.
    let doctor = Locked(Console.Run.none)
}

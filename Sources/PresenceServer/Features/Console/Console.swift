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

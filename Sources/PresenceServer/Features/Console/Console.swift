import PresenceCore
import PresenceProtocol
import WebSockets

/// The console at `/console`: pages on which operators see what the servers do and who is here, and the calls that only these
/// pages need. What it shows comes over HTTP with the token of a backend, and nothing is gathered while nobody asks.
final class Console: Feature {
    static let plan = FeaturePlan(name: "console", settings: [.consoleEnabled], pools: [doctorThread])

    unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        guard shard.configuration.isOn(.consoleEnabled) else { return }
        for file in WebFile.console {
            for method in ["GET", "HEAD"] {
                registry.route(method, file.path, for: .admins) { [unowned self] call in serve(file, call) }
            }
        }
        registry.route("GET", "/v1/console/servers") { [unowned self] in servers($0) }
        registry.route("GET", "/v1/console/people") { [unowned self] (call) throws(DecodingFailure) in try people(call)
        }
        registry.route("GET", "/v1/users/{id}/sessions") { [unowned self] in sessions($0) }
        registry.route("GET", "/v1/console/view") { [unowned self] (call) throws(DecodingFailure) in try view(call) }
        registry.route("GET", "/v1/console/doctor") { [unowned self] in report($0) }
        registry.route("POST", "/v1/console/doctor") { [unowned self] in examine($0) }
        registry.route("GET", "/v1/console/outbox") { [unowned self] in outbox($0) }
    }

    /// Where there is no port for operators and backends, the pages are for this machine.
    private func serve(_ file: WebFile, _ call: HTTPCall) {
        guard shard.configuration.api.port != nil || call.request.peer.isLoopback else {
            return call.refuse(404, .badRequest, "there is nothing at this path")
        }
        call.serve(file.bytes, as: file.content)
    }
}

extension FeatureSetting {
    static let consoleEnabled = flag(
        "console.enabled", false,
        about:
            "Whether the server has a console for operators at /console: on api.port, or without one for this machine only."
    )
}

import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Keys with which backends call over HTTP, each for some scopes. Operators make, list, rotate and revoke them with `presenced key`
/// or in the console.
///
/// Each call reads its key in Redis, so a revoked key ends on all servers at once; none keeps a copy. It costs one short script.
final class BackendKeys: Feature {
    static let plan = FeaturePlan(
        name: "backendKeys", scripts: [.judgeKey, .makeKey, .rotateKey, .revokeKey], keys: [.backendKeys])

    /// A hash of so many is read whole.
    static let most = 100

    private unowned let shard: ShardLogic
    private var keys: PartitionKeys { shard.partitions.keys(0) }

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.bearers(prefix: BackendKey.prefix) { [unowned self] (text) async throws(Refusal) in
            try await judge(text)
        }
        guard shard.configuration[Console.enabled], shard.feature(Console.self) != nil else { return }
        let limits = RouteLimits(bodyBytes: 4_096)
        registry.route(
            "GET", "/v1/console/keys", for: .adminCalls,
            answer: { [unowned self] (_) async throws(Refusal) in try await list() })
        registry.route(
            "POST", "/v1/console/keys", for: .adminCalls, limits: limits,
            answer: { [unowned self] (call) async throws(Refusal) in try await make(call) })
        registry.route(
            "POST", "/v1/console/keys/{id}/rotate", for: .adminCalls, limits: limits,
            answer: { [unowned self] (call) async throws(Refusal) in try await rotate(call) })
        registry.route(
            "DELETE", "/v1/console/keys/{id}", for: .adminCalls,
            answer: { [unowned self] (call) async throws(Refusal) in
                _ = try await shard.run(.revoking(call.ids[0].string, in: keys)).accepted(or: BackendKeyRefusal.self)
                return .done
            })
    }

    private func judge(_ text: String) async throws(Refusal) -> BearerVerdict {
        guard let key = BackendKey(text) else { return .refused("this is no key") }
        let call = ScriptCall(
            .judgeKey, in: keys, ["backendKeys": keys.backendKeys], ["id": key.id, "digest": key.digest])
        let reply = try await shard.run(call, changes: false)
        switch reply.word {
        case "OK":
            let scopes = (reply[0].string ?? "").split(separator: ",").map { CallScope(String($0)) }
            return .valid(Set(scopes))
        case "EXPIRED": return .refused("this key has expired")
        default: return .refused("there is no such key, or it was revoked")
        }
    }

    // MARK: The console

    private func list() async throws(Refusal) -> HTTPResponse {
        let words = (try await shard.run("HGETALL", keys.backendKeys).array ?? []).compactMap(\.string)
        var json = Array(#"{"keys":["#.utf8)
        json += Array(StoredKey.all(words).map(\.json).joined(separator: [UInt8(ascii: ",")]))
        let scopes = CallScope.all.map { JSONWriter.encoded($0.name) }.joined(separator: ",")
        return .json(200, json + Array(#"],"scopes":[\#(scopes)]}"#.utf8))
    }

    private func make(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let request = try call.decoded { (_) throws(DecodingFailure) in try BackendKeyRequest(call.body) }
        let key = BackendKey()
        let reply = try await shard.run(.making(key, request, in: keys)).accepted(or: BackendKeyRefusal.self)
        return try Self.shown(key, reply[0].string, status: 201)
    }

    private func rotate(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let overlap = try call.decoded { (_) throws(DecodingFailure) in try BackendKeyRequest.overlap(call.body) }
        var key = BackendKey()
        let reply = try await shard.run(.rotating(call.ids[0].string, to: key, overlap, in: keys))
            .accepted(or: BackendKeyRefusal.self)
        key.id = reply[0].string ?? ""
        return try Self.shown(key, reply[1].string, status: 200)
    }

    /// The only answer with a key's text.
    private static func shown(_ key: BackendKey, _ row: String?, status: Int) throws(Refusal) -> HTTPResponse {
        guard let row, let held = StoredKey(key.id, row) else { throw Refusal(.internal, "this key cannot be read") }
        var json = Array(#"{"key":"#.utf8) + held.json
        JSONWriter.member("secret", key.text, to: &json)
        var response = HTTPResponse.json(status, json + [UInt8(ascii: "}")])
        response.headers.append(("Cache-Control", "no-store"))
        return response
    }
}

extension ScriptCall {
    static func making(_ key: BackendKey, _ request: BackendKeyRequest, in keys: PartitionKeys) -> ScriptCall {
        ScriptCall(
            .makeKey, in: keys, ["backendKeys": keys.backendKeys],
            [
                "id": key.id, "name": request.name, "scopes": request.scopes.map(\.name).joined(separator: ","),
                "lifetime": request.lifetime, "digest": key.digest, "most": BackendKeys.most,
            ])
    }

    /// - Parameter wanted: An id or a name.
    static func rotating(
        _ wanted: String, to key: BackendKey, _ overlap: Milliseconds, in keys: PartitionKeys
    ) -> ScriptCall {
        ScriptCall(
            .rotateKey, in: keys, ["backendKeys": keys.backendKeys],
            ["wanted": wanted, "digest": key.digest, "overlap": overlap])
    }

    /// - Parameter wanted: An id or a name.
    static func revoking(_ wanted: String, in keys: PartitionKeys) -> ScriptCall {
        ScriptCall(.revokeKey, in: keys, ["backendKeys": keys.backendKeys], ["wanted": wanted])
    }
}

extension KeyFamily {
    /// The keys of backends, in one hash of the first partition (`Scripts/backend-key-lib.lua`).
    static let backendKeys = KeyFamily(name: "backendKeys", isPassing: false, type: "hash", isOfPartition: true)
}

extension PartitionKeys {
    var backendKeys: String { "\(name):backendKeys" }
}

extension Script {
    private static let backendKeyLibrary = ScriptLibrary.common + ScriptLibrary(asset_backend_key_lib())

    private static func changingKeys(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: backendKeyLibrary, isAcknowledged: true)
    }

    static let judgeKey = Script("judge-key", asset_judge_key(), library: backendKeyLibrary)
    static let makeKey = changingKeys("make-key", asset_make_key())
    static let rotateKey = changingKeys("rotate-key", asset_rotate_key())
    static let revokeKey = changingKeys("revoke-key", asset_revoke_key())
}

import Installation
import PresenceCore
import PresenceProtocol
import Redis

/// The installation's VAPID key. All servers must have the same: browsers subscribe with its public half, and services refuse
/// pushes that another key signs.
///
/// The first server to connect stores the key of its data directory in Redis. All others use that one, and store it in their
/// own data directories. If Redis loses its data, the key is still there, and the subscriptions are valid.
final class VAPIDKeys {
    private unowned let shard: ShardLogic
    private let file: VAPIDFile
    /// `nil` before the shard has connected to Redis, and without a usable file.
    private(set) var current: VAPIDKey? { didSet { authorizations = [:] } }
    /// By origin of a push service: its header `Authorization`, and when that was signed. Services of browsers are few, but users
    /// choose them: beyond ``mostKept`` all are signed anew.
    private var authorizations: [String: (text: String, at: Timestamp)] = [:]

    private static let mostKept = 64
    /// In ms. A signature is valid for much longer.
    private static let keptFor: Timestamp = 3_600_000

    init(_ shard: ShardLogic) {
        self.shard = shard
        file = VAPIDFile(directory: shard.configuration.dataPath)
    }

    /// Finds the key in Redis, or stores one there.
    func settle() async throws(RedisFailure) {
        let name = shard.partitions.keys(0).vapid
        var shared = try await shard.command(["GET", name]).string
        if shared == nil, let own = await run("made", { [file] () throws(StartFailure) in try file.key() }) {
            let reply = try await shard.command(["SET", name, own.pem, "NX"])
            // Another server was faster.
            shared = reply.string == "OK" ? own.pem : try await shard.command(["GET", name]).string
        }
        guard let shared, shared != current?.pem else { return }
        guard let key = VAPIDKey(pem: shared) else {
            return shard.log("damaged record", ["what": "vapid"], level: .error)
        }
        current = key
        guard shard.place.number == 0 else { return }
        _ = await run("stored", { [file] () throws(StartFailure) in try file.store(key) })
    }

    /// The latest signature for an origin; `nil` if a new one is needed.
    func authorization(for origin: String, at time: Timestamp) -> String? {
        authorizations[origin].flatMap { abs(time - $0.at) < Self.keptFor ? $0.text : nil }
    }

    /// - Parameter key: Signed it: it may have been replaced meanwhile.
    func keep(_ authorization: String, of key: VAPIDKey, for origin: String, at time: Timestamp) {
        guard key.pem == current?.pem else { return }
        if authorizations.count >= Self.mostKept { authorizations = [:] }
        authorizations[origin] = (authorization, time)
    }

    /// Runs a job with the file; `nil` if it failed.
    private func run<Value: Sendable>(
        _ what: String, _ job: @escaping @Sendable () throws(StartFailure) -> Value
    ) async -> Value? {
        do {
            let outcome = try await shard.work(.files) { () -> Result<Value, StartFailure> in
                do throws(StartFailure) { return .success(try job()) } catch { return .failure(error) }
            }
            return try outcome.get()
        } catch {
            shard.log("VAPID key not \(what)", ["reason": "\(error)"], level: .error)
            return nil
        }
    }
}

extension KeyFamily {
    /// The key of pushes to browsers, shared by all servers; in the first partition only.
    static let vapid = KeyFamily(name: "vapid", isPassing: false, type: "string", isOfPartition: true)
}

extension PartitionKeys {
    var vapid: String { "\(name):vapid" }
}

import Foundation
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Two servers with accounts, calls to them, and their outgoing mails.
final class AccountWorld {
    let world: World
    private let folder: String

    /// - Parameter redis: An instance that earlier worlds have used; it is emptied.
    init(
        seed: UInt64 = 1, partitions: Int = 4, redis: SimulatedRedis? = nil,
        _ adjust: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/accounts-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        self.folder = folder
        world = try World(shards: 2, seed: seed, redis: redis) {
            $0[Accounts.enabled] = true
            $0.dataDirectory = folder
            $0.partitions = partitions
            adjust(&$0)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Sends a request and waits for its answer.
    func call(
        _ method: String, _ path: String, _ body: [String: Any] = [:], token: String? = nil, at shard: Int = 0
    ) throws -> SimulatedCall {
        let call = SimulatedCall(method, path, body, token: token, to: world.shards[shard])
        try world.run(until: "\(method) \(path) is answered") { call.status != nil }
        return call
    }

    /// The token of the newest mail of a kind.
    func mailToken(_ page: String, to address: String? = nil) throws -> String {
        var found: String?
        try world.run(until: "there is a mail about \(page)") {
            found = self.tokens(page, to: address).last
            return found != nil
        }
        return found!
    }

    /// The tokens of all mails of a kind, the oldest first.
    func tokens(_ page: String, to address: String? = nil) -> [String] {
        mails(to: address).compactMap { text in
            guard let start = text.range(of: "/\(page)#token=") else { return nil }
            return String(text[start.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
        }
    }

    /// The mails in the outbox, the oldest first.
    func mails(to address: String? = nil) -> [String] {
        let files = ((try? FileManager.default.contentsOfDirectory(atPath: folder + "/outbox")) ?? []).sorted()
        return files.filter { $0.hasSuffix(".eml") }.compactMap { name -> String? in
            guard let data = FileManager.default.contents(atPath: folder + "/outbox/" + name) else { return nil }
            let text = String(decoding: data, as: UTF8.self)
            return address.map { text.contains("\r\nTo: \($0)\r\n") } ?? true ? text : nil
        }
    }
}

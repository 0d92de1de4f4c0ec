import Foundation
import PresenceCore
import PresenceProtocol
import WebSockets

/// The functions of `presenced webhooks` for the console. They read lists of ids, so they have a thread and a connection to
/// Redis of their own.
extension Console {
    static let redisThread = WorkerPlan("console", threads: { _ in 1 }, queue: { _ in 8 }, hasLowPriority: true)

    /// An endpoint with its id for calls.
    private struct Row: Encodable {
        enum Key: String, CodingKey { case id }
        let id: String
        let endpoint: WebhookConsole.Endpoint

        func encode(to encoder: any Encoder) throws {
            try endpoint.encode(to: encoder)
            var own = encoder.container(keyedBy: Key.self)
            try own.encode(id, forKey: .id)
        }
    }

    func webhooks(_ call: HTTPCall) {
        let configuration = shard.configuration
        call.work(Self.redisThread) { () -> [UInt8]? in
            guard let endpoints = try? WebhookEndpoint.all(configuration) else { return nil }
            guard !endpoints.isEmpty else { return Array("[]".utf8) }
            guard let found = try? Console.webhookConsole(configuration).list() else { return nil }
            let rows = zip(endpoints, found).map { Row(id: $0.id.string, endpoint: $1) }
            return (try? JSONEncoder().encode(rows)).map { Array($0) }
        } then: { found in
            guard let found else { return call.refuse(503, Self.unread) }
            call.respond(.json(200, Array(#"{"endpoints":"#.utf8) + found + [UInt8(ascii: "}")]))
        }
    }

    /// Retries all pending events of an endpoint now.
    func retryWebhook(_ call: HTTPCall) {
        let (configuration, id) = (shard.configuration, call.ids[0])
        enum Outcome: Sendable {
            case unknown, failed
            case tried(Int)
        }
        call.work(Self.redisThread) { () -> Outcome in
            let endpoints = (try? WebhookEndpoint.all(configuration)) ?? []
            guard let endpoint = endpoints.first(where: { $0.id == id }) else { return .unknown }
            guard let count = try? Console.webhookConsole(configuration).retry(endpoint.url) else { return .failed }
            return .tried(count)
        } then: { outcome in
            switch outcome {
            case .unknown: call.refuse(404, .notFound, "there is no such endpoint")
            case .failed: call.refuse(503, Self.unread)
            case .tried(let count): call.respond(.json(200, #"{"events":\#(count)}"#))
            }
        }
    }

    static let unread = ServerMessage.ErrorMessage(
        code: .unavailable, message: "the store is out of reach", retryAfter: 1_000)

    private static func webhookConsole(_ configuration: ServerConfiguration) throws -> WebhookConsole {
        try WebhookConsole(url: try Doctor.place(of: configuration), configuration: configuration)
    }
}

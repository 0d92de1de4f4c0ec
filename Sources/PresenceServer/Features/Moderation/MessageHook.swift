import EventLoops
import Installation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// The operator's server that is asked about each message, `hooks.beforeMessage`, as one shard calls it.
///
/// All shards of a server share its places: `hooks.concurrent` calls at once, and four times as many that wait.
final class MessageHook {
    private let secret: WebhookSecret
    private let client: KeptClient

    /// A text of 20 KiB may take six times as many bytes as JSON.
    private static let mostAnswerBytes = 131_072
    /// Opens connections.
    static let connections = WorkerPlan("hook", threads: { $0[Moderation.url].isEmpty ? 0 : 8 }, queue: { _ in 1_024 })

    /// `nil` if there is none.
    init?(_ shard: ShardLogic) {
        let configuration = shard.configuration
        // `Moderation.check` has read the secret before. Simulated shards have no loop.
        guard !configuration[Moderation.url].isEmpty, let loop = shard.tasks.loop,
            let secret = try? Self.secret(configuration)
        else { return nil }
        let places = shard.shared.object {
            let most = configuration[Moderation.concurrent]
            return CallPlaces(most, mostWaiting: 4 * most)
        }
        let client = try? KeptClient(
            loop, url: configuration[Moderation.url], userAgent: "Presence-Hooks", places: places,
            // The operator's server has the whole time for each text, however many wait for a place.
            patience: configuration[Moderation.timeout], mostBytes: Self.mostAnswerBytes
        ) { [unowned shard] open, done in
            shard.tasks.run {
                do throws(Refusal) { done(try await shard.work(Self.connections, open)) } catch {
                    done(.failure(.overloaded(retryAfter: 1)))
                }
            }
        }
        guard let client else { return nil }
        (self.secret, self.client) = (secret, client)
    }

    /// - Throws: what is wrong with the settings.
    static func secret(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> WebhookSecret {
        let url = configuration[Moderation.url]
        guard WebhookEndpoint.isAllowed(url) else {
            throw .of(Moderation.url, "must be https://…, or http://… to this machine, without user or password")
        }
        let file = configuration[Moderation.secretFile]
        guard !file.isEmpty else { throw .of(Moderation.secretFile, "is needed with hooks.beforeMessage.url") }
        do throws(StartFailure) { return try WebhookSecret(file: file) } catch {
            throw .of(Moderation.secretFile, error.message)
        }
    }

    /// Why a question would fail at once.
    var obstacle: OutgoingFailure? { client.obstacle }
    /// Calls that have begun or wait.
    var running: Int { client.running }

    func stop() { client.stop() }

    /// - Parameters:
    ///   - time: Now.
    ///   - done: Called with the decision; with `nil` if the answer was none, and with a failure if no answer came.
    func ask(
        _ draft: MessageDraft, _ id: Identifier, at time: Timestamp,
        done: @escaping (Result<Verdict?, OutgoingFailure>) -> Void
    ) {
        var body = Array(#"{"type":"message.before","timestamp":"#.utf8)
        JSONWriter.string(OfferedEvent.text(of: time), to: &body)
        JSONWriter.key("data", to: &body)
        draft.write(to: &body)
        JSONWriter.raw("}", to: &body)
        let (seconds, name, mayBeEmpty) = (time / 1_000, "before_\(id)", !draft.attachments.isEmpty)
        let signature = secret.signature(id: name, timestamp: seconds, body: body)
        let headers =
            "content-type: application/json\r\nwebhook-id: \(name)\r\nwebhook-timestamp: \(seconds)\r\n"
            + "webhook-signature: \(signature)\r\n"
        client.post(headers, body) { outcome in
            done(outcome.map { $0.status == 200 ? Verdict($0.body, mayBeEmpty: mayBeEmpty) : nil })
        }
    }
}

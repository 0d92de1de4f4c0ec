import Installation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// The operator's server that is asked about each message, `hooks.beforeMessage`.
///
/// All shards of a server share its places: `hooks.concurrent` calls at once, and four times as many that wait.
final class MessageHook: Sendable {
    private let url: String
    private let secret: WebhookSecret
    private let patience: Milliseconds
    private let client: OutgoingClient

    /// A text of 20 KiB may take six times as many bytes as JSON.
    private static let mostAnswerBytes = 131_072

    init(_ configuration: ServerConfiguration, _ secret: WebhookSecret) {
        (url, self.secret, patience) = (configuration[Moderation.url], secret, configuration[Moderation.timeout])
        let most = configuration[Moderation.concurrent]
        client = OutgoingClient(name: "hooks", mostRunning: most, mostQueued: 4 * most, userAgent: "Presence-Hooks")
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

    /// - Parameter time: Now.
    /// - Returns: The decision; `nil` if the answer was none.
    /// - Throws: if no answer came.
    func ask(_ draft: MessageDraft, _ id: Identifier, at time: Timestamp) async throws(OutgoingFailure) -> Verdict? {
        var body = Array(#"{"type":"message.before","timestamp":"#.utf8)
        JSONWriter.string(OfferedEvent.text(of: time), to: &body)
        JSONWriter.key("data", to: &body)
        draft.write(to: &body)
        JSONWriter.raw("}", to: &body)
        let (seconds, name) = (time / 1_000, "before_\(id)")
        var request = OutgoingRequest("POST", url, body: body)
        request.headers = [
            ("content-type", "application/json"), ("webhook-id", name), ("webhook-timestamp", String(seconds)),
            ("webhook-signature", secret.signature(id: name, timestamp: seconds, body: body)),
        ]
        // The operator's server has the whole time for each text, however many wait for a place.
        request.limits.total = Double(patience) / 1_000
        request.limits.waiting = request.limits.total
        request.limits.responseBytes = Self.mostAnswerBytes
        let response = try await client.send(request)
        guard response.status == 200 else { return nil }
        return Verdict(response.body, mayBeEmpty: !draft.attachments.isEmpty)
    }
}

import Foundation
import Installation
import OutgoingHTTP
import Passwords
import PresenceCore
import PresenceProtocol
import Signing

/// Web Push: the push services of browsers, and of UnifiedPush (RFC 8030, encrypted by RFC 8291).
struct WebPush: PushSender {
    static let platform = "web"

    let keys: VAPIDKeys
    let subject: String
    let hosts: WebHosts
    let destinations: Destinations
    let tls: OutgoingTLS

    var platform: String { Self.platform }
    var name: String { "web-push" }
    var url: String { "web-push" }
    /// Users choose the endpoints. A failing one must not hold up others.
    var isOneService: Bool { false }

    /// Not shared with FCM and APNs: endpoints that never answer take no place of theirs.
    private static let client = OutgoingClient(name: "web-push", mostRunning: 100, userAgent: "Presence-Push")
    /// Seconds for which a service holds a push for a browser that is not connected: a week.
    private static let life: Int64 = 604_800
    private static let mostAnswerBytes = 16_384

    init?(_ configuration: ServerConfiguration, _ keys: VAPIDKeys, tls: OutgoingTLS) {
        guard Self.isOn(configuration) else { return nil }
        (self.keys, self.tls, subject) = (keys, tls, configuration[Push.webSubject])
        hosts = WebHosts(configuration)
        destinations = configuration[Push.webPrivate] ? .all : .publicOnly
    }

    static func isOn(_ configuration: ServerConfiguration) -> Bool { !configuration[Push.webSubject].isEmpty }

    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        let subject = configuration[Push.webSubject]
        let isSubject =
            subject.hasPrefix("mailto:") ? subject.dropFirst(7).contains("@") : subject.hasPrefix("https://")
        guard
            subject.isEmpty
                || isSubject && subject.utf8.count <= 256
                    && subject.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else {
            throw InvalidConfiguration(key: Push.webSubject.key, reason: "must be mailto:NAME@HOST or https://…")
        }
        for host in configuration[Push.webHosts] where !WebHosts.isName(host) {
            throw InvalidConfiguration(
                key: Push.webHosts.key, reason: "\(host) is not a host's name, as in push.example.org or *.example.org")
        }
        guard !configuration[Push.webPrivate] || !configuration[Push.webHosts].isEmpty else {
            throw InvalidConfiguration(
                key: Push.webPrivate.key,
                reason: "needs push.web.hosts: otherwise every user could have your private services called")
        }
    }

    // MARK: A try

    func send(_ message: PushMessage, id: String, at time: Timestamp, on shard: ShardLogic) async -> DeliveryOutcome? {
        guard let subscription = WebSubscription(text: message.pushToken), let place = subscription.place else {
            return .refused("a subscription that is none")
        }
        guard hosts.contain(place.host) else { return .refused("push.web.hosts has no \(place.host)") }
        // Without a key the push stays in its queue.
        guard let key = keys.current else { return nil }
        let outcome = await send(message, to: subscription, place, key, at: time, on: shard)
        guard outcome == .refused(Self.tooLarge), !message.text.isEmpty else { return outcome }
        return await send(message.withoutText, to: subscription, place, key, at: time, on: shard)
    }

    private func send(
        _ message: PushMessage, to subscription: WebSubscription, _ place: WebSubscription.Endpoint, _ key: VAPIDKey,
        at time: Timestamp, on shard: ShardLogic
    ) async -> DeliveryOutcome? {
        let (subject, body) = (subject, Self.body(message))
        let signed = keys.authorization(for: place.origin, at: time)
        let prepared: (body: [UInt8], authorization: String)?
        do {
            prepared = try await shard.work(.signatures) {
                guard let encrypted = try? subscription.encryption?.encrypt(body),
                    let text = try? signed ?? key.authorization(for: place.origin, subject: subject, at: time)
                else { return nil }
                return (encrypted, text)
            }
        } catch {
            return nil
        }
        guard let prepared, let secret = subscription.secret else { return .refused("a subscription with wrong keys") }
        if signed == nil { keys.keep(prepared.authorization, of: key, for: place.origin, at: time) }
        var request = OutgoingRequest("POST", subscription.endpoint, body: prepared.body)
        request.headers = [
            ("authorization", prepared.authorization), ("content-encoding", "aes128gcm"),
            ("content-type", "application/octet-stream"),
            ("ttl", "\(min(Self.life, message.life(at: time) ?? Self.life))"),
            ("urgency", message.urgency.rawValue), ("topic", Self.topic(message.tag, secret)),
        ]
        request.limits.total = PushService.patience
        request.limits.responseBytes = Self.mostAnswerBytes
        request.tls = tls
        request.offersHTTP2 = true
        request.destinations = destinations
        do throws(OutgoingFailure) {
            return Self.outcome(of: try await Self.client.send(request), from: place.host, at: time)
        } catch {
            switch error {
            case .forbidden, .invalid: return .refused("\(error.reason) \(place.host)")
            default: return .failed("\(error.reason) \(place.host)", retryAfter: 0)
            }
        }
    }

    // MARK: The request

    /// The members that apps get with a push by FCM. At most 3 KiB: titles and texts are cut to 2,400 bytes of JSON
    /// (`PushMessage`), two ids have 512, and the rest has 110.
    static func body(_ message: PushMessage) -> [UInt8] {
        var json = Array(#"{"user":"#.utf8)
        JSONWriter.string(message.user, to: &json)
        if let notification = message.notification {
            JSONWriter.raw(#","notification":{"seq":"#, to: &json)
            JSONWriter.integer(notification.seq, to: &json)
            JSONWriter.member("id", notification.id, to: &json)
            JSONWriter.member("kind", notification.kind, to: &json)
            JSONWriter.member("tag", notification.tag, to: &json)
            JSONWriter.raw("}", to: &json)
        } else if let summary = message.summary {
            JSONWriter.raw(#","summary":{"conversations":"#, to: &json)
            JSONWriter.integer(Int64(summary.conversations.count), to: &json)
            JSONWriter.member("notifications", Int64(summary.notifications.count), to: &json)
            JSONWriter.raw("}", to: &json)
        } else {
            JSONWriter.member("conversation", message.conversation, to: &json)
        }
        JSONWriter.member("seq", message.seq, to: &json)
        JSONWriter.member("title", message.title, to: &json)
        JSONWriter.member("text", message.text, to: &json)
        JSONWriter.member("badge", message.badge, to: &json)
        JSONWriter.raw("}", to: &json)
        return json
    }

    /// A newer push of the conversation takes the place of one that waits at the service, which learns nothing of the
    /// conversation by it: 32 characters of a hash with the subscription's secret.
    static func topic(_ conversation: String, _ secret: [UInt8]) -> String {
        Base64URL.encode(Array(Sodium.sha256(secret + Array(conversation.utf8)).prefix(24)))
    }

    // MARK: The response

    private static let tooLarge = "too large"

    /// Redirects are not followed, and refused like any other answer.
    static func outcome(of response: OutgoingResponse, from host: String, at time: Timestamp) -> DeliveryOutcome {
        let reason = "status \(response.status) \(host)"
        switch response.status {
        case 200...299: return .accepted
        case 404, 410: return .gone(time)
        case 413: return .refused(tooLarge)
        case 429, 500...599: return PushService.failed(reason, response)
        default: return .refused(reason)
        }
    }
}

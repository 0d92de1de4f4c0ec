import Foundation
import OutgoingHTTP
import Passwords
import PresenceCore
import PresenceProtocol

/// The Apple Push Notification service, over HTTP/2.
struct APNs: PushSender {
    let url: String
    let topic: String
    let tokens: ProviderTokens
    let tls: OutgoingTLS

    var platform: String { "apns" }
    var name: String { "\(url)/\(topic)" }

    /// Whether a device's token is one of APNs: bytes in hexadecimal.
    static func isToken(_ text: String) -> Bool {
        (1...400).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || (0x61...0x66).contains($0)
            }
    }

    func send(_ message: PushMessage, id: String, at time: Timestamp, on shard: ShardLogic) async -> DeliveryOutcome? {
        guard Self.isToken(message.pushToken) else { return .refused("a token that is none") }
        guard let token = await tokens.token(on: shard) else { return nil }
        let headers: [(name: String, value: String)] = [
            ("authorization", "bearer \(token)"), ("apns-topic", topic), ("apns-push-type", "alert"),
            ("apns-id", Self.uuid(id)),
        ]
        return await PushService.call(
            "\(url)/3/device/\(message.pushToken)", headers + Self.headers(message), Self.body(message), tls
        ) { Self.outcome(of: $0, at: time) }
    }

    // MARK: The request

    static func body(_ message: PushMessage) -> [UInt8] {
        var aps = alert(message)
        let (title, text) = message.shown
        aps["alert"] = ["title": title, "body": text]
        return PushService.json(message.subjects.merging(["aps": aps]) { one, _ in one })
    }

    /// Those that depend on the message.
    static func headers(_ message: PushMessage) -> [(name: String, value: String)] {
        let isLow = [.low, .veryLow].contains(message.urgency)
        var headers = [("apns-priority", isLow ? "5" : "10"), ("apns-collapse-id", collapseID(message.tag))]
        if let expires = message.notification?.expires { headers.append(("apns-expiration", "\(expires / 1_000)")) }
        return headers.map { (name: $0.0, value: $0.1) }
    }

    /// Without the texts: FCM puts those in itself.
    static func alert(_ message: PushMessage) -> [String: Any] {
        var aps: [String: Any] = ["badge": message.badge, "sound": "default", "thread-id": message.thread]
        // The app may put in the texts that the push does not have.
        if message.title.isEmpty, message.text.isEmpty { aps["mutable-content"] = 1 }
        return aps
    }

    /// At most 64 bytes: the conversation, or what stands for a longer one.
    static func collapseID(_ conversation: String) -> String {
        conversation.utf8.count <= 64 ? conversation : Sodium.sha256(Array(conversation.utf8)).hexadecimal
    }

    /// The same id at each try, so that one that came twice is one.
    static func uuid(_ id: String) -> String {
        let hash = Sodium.sha256(Array(id.utf8)).hexadecimal
        var text = ""
        for (index, character) in hash.prefix(32).enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            // Version and variant of RFC 9562.
            text.append(index == 12 ? "8" : index == 16 ? "a" : character)
        }
        return text
    }

    // MARK: The response

    static func outcome(of response: OutgoingResponse, at time: Timestamp) -> DeliveryOutcome {
        guard response.status != 200 else { return .accepted }
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        let reason = PushService.reason(response.status, answer?.reason)
        switch response.status {
        case 410: return .gone(answer?.timestamp ?? time)
        // A wrong token of ours is 403, and a new one may be taken.
        case 400, 404, 405, 413: return .refused(reason)
        default: return PushService.failed(reason, response)
        }
    }

    private struct Answer: Decodable {
        let reason: String?
        /// Since when the token is none, in ms since 1970.
        let timestamp: Int64?
    }
}

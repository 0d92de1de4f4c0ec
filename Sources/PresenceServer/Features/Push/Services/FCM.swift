import Foundation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// Firebase Cloud Messaging, by its HTTP v1 API.
struct FCM: PushSender {
    let url: String
    let project: String
    let access: GoogleAccess
    let tls: OutgoingTLS

    var platform: String { "fcm" }
    var name: String { "\(url)/v1/projects/\(project)" }

    func send(_ message: PushMessage, id: String, at time: Timestamp, on shard: ShardLogic) async -> DeliveryOutcome? {
        let token: String
        switch await access.token(at: time, on: shard) {
        case .token(let text): token = text
        case .failed(let outcome): return outcome
        case .notNow: return nil
        }
        return await PushService.call(
            "\(url)/v1/projects/\(project)/messages:send", [("authorization", "Bearer \(token)")],
            Self.body(message, at: time),
            tls
        ) { response in
            if response.status == 401 { access.forget(token) }
            return Self.outcome(of: response, at: time)
        }
    }

    // MARK: The request

    /// Seconds: FCM refuses a longer time than four weeks.
    private static let mostLife: Int64 = 2_419_200

    /// A newer push of the same conversation takes the place of the one that the device shows. There is no key under which
    /// FCM itself would collapse what waits: it has four for a device, and people have more conversations.
    static func body(_ message: PushMessage, at time: Timestamp) -> [UInt8] {
        let shown: [String: Any] = ["tag": message.tag, "notification_count": message.badge]
        var android: [String: Any] = [
            "priority": message.urgency == .high ? "HIGH" : "NORMAL", "notification": shown,
        ]
        if let life = message.life(at: time) { android["ttl"] = "\(min(life, mostLife))s" }
        // 10 is FCM's own default.
        let changed = APNs.headers(message).filter { $0 != (name: "apns-priority", value: "10") }
        let headers = Dictionary(uniqueKeysWithValues: changed.map { ($0.name, $0.value) })
        let apns: [String: Any] = ["headers": headers, "payload": ["aps": APNs.alert(message)]]
        let (title, text) = message.shown
        // Its values are texts.
        let about =
            message.notification.map { ["notification": $0.id, "kind": $0.kind] }
            ?? message.summary.map { ["summary": "\($0.count)"] }
        let data = (about ?? ["conversation": message.conversation]).merging(["user": message.user]) { one, _ in one }
        let content: [String: Any] = [
            "token": message.pushToken, "notification": ["title": title, "body": text], "data": data,
            "android": android, "apns": apns,
        ]
        return PushService.json(["message": content])
    }

    // MARK: The response

    static func outcome(of response: OutgoingResponse, at time: Timestamp) -> DeliveryOutcome {
        guard response.status != 200 else { return .accepted }
        let error = try? JSONDecoder().decode(Answer.self, from: Data(response.body)).error
        let word = error?.details?.compactMap(\.errorCode).first ?? error?.status
        let reason = PushService.reason(response.status, word)
        switch (response.status, word) {
        case (404, "UNREGISTERED"): return .gone(time)
        case (400, _), (403, "SENDER_ID_MISMATCH"): return .refused(reason)
        default: return PushService.failed(reason, response)
        }
    }

    private struct Answer: Decodable {
        let error: Content

        struct Content: Decodable {
            let status: String?
            let details: [Detail]?
        }

        struct Detail: Decodable {
            let errorCode: String?
        }
    }
}

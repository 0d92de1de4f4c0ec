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
            "\(url)/v1/projects/\(project)/messages:send", [("authorization", "Bearer \(token)")], Self.body(message),
            tls
        ) { response in
            if response.status == 401 { access.forget(token) }
            return Self.outcome(of: response, at: time)
        }
    }

    // MARK: The request

    /// A newer push of the same conversation takes the place of the one that the device shows. There is no key under which
    /// FCM itself would collapse what waits: it has four for a device, and people have more conversations.
    static func body(_ message: PushMessage) -> [UInt8] {
        let shown: [String: Any] = ["tag": message.conversation, "notification_count": message.badge]
        let android: [String: Any] = ["priority": "HIGH", "notification": shown]
        let apns: [String: Any] = [
            "headers": ["apns-collapse-id": APNs.collapseID(message.conversation)],
            "payload": ["aps": APNs.alert(message)],
        ]
        let content: [String: Any] = [
            "token": message.pushToken, "notification": ["title": message.title, "body": message.text],
            "data": ["user": message.user, "conversation": message.conversation], "android": android, "apns": apns,
        ]
        return PushService.json(["message": content])
    }

    // MARK: The response

    static func outcome(of response: OutgoingResponse, at time: Timestamp) -> DeliveryOutcome {
        guard response.status != 200 else { return .taken }
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

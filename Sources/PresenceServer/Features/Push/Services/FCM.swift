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
        var request = OutgoingRequest("POST", "\(url)/v1/projects/\(project)/messages:send", body: Self.body(message))
        request.headers = [("content-type", "application/json"), ("authorization", "Bearer \(token)")]
        request.limits.total = PushService.patience
        request.tls = tls
        request.offersHTTP2 = true
        do throws(OutgoingFailure) {
            let response = try await PushService.client.send(request)
            if response.status == 401 { access.forget(token) }
            return Self.outcome(of: response, at: time)
        } catch {
            return .failed(error.reason, retryAfter: 0)
        }
    }

    // MARK: The request

    static func body(_ message: PushMessage) -> [UInt8] {
        let content = Content(
            message: .init(
                token: message.pushToken, notification: ["title": message.title, "body": message.text],
                data: ["user": message.user, "conversation": message.conversation],
                android: .init(
                    priority: "HIGH", notification: .init(tag: message.conversation, count: message.badge)),
                apns: .init(
                    headers: ["apns-collapse-id": APNs.collapseID(message.conversation)],
                    payload: .init(aps: APNs.Alert(message, hasText: false)))))
        // Texts and numbers always have JSON.
        return (try? JSONEncoder.service.encode(content)).map { Array($0) } ?? []
    }

    /// A newer push of the same conversation takes the place of the one that the device shows. There is no key under which
    /// FCM itself would collapse what waits: it has four for a device, and people have more conversations.
    private struct Content: Encodable {
        let message: Message

        struct Message: Encodable {
            let token: String
            let notification: [String: String]
            let data: [String: String]
            let android: Android
            let apns: Apple
        }

        struct Android: Encodable {
            let priority: String
            let notification: Notification

            struct Notification: Encodable {
                let tag: String
                let count: Int64

                private enum CodingKeys: String, CodingKey {
                    case tag
                    case count = "notification_count"
                }
            }
        }

        struct Apple: Encodable {
            let headers: [String: String]
            let payload: Payload

            struct Payload: Encodable {
                let aps: APNs.Alert
            }
        }
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

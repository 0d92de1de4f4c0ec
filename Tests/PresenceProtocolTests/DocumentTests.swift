import Expectations
import PresenceProtocol
import Testing

/// The codec accepts and produces the examples in the protocol's documents.
struct DocumentTests {
    static let clientTypes: Set = [
        "connect", "refresh", "subscribe", "unsubscribe", "get", "status", "activity", "updateProfile",
        "createConversation", "typing", "setVisibility", "getVisibility", "addContacts", "removeContacts", "block",
        "unblock", "disconnect",
    ]
    static let serverTypes: Set = [
        "connected", "refreshed", "ok", "subscribed", "unsubscribed", "users", "profileUpdated", "conversationCreated",
        "presence", "profile", "typing", "ownStatus", "visibility", "ownVisibility", "tokenExpiring", "stale", "live",
        "error",
    ]
    /// Messages of a feature that only some clients use: the codec passes them over.
    static let featureTypes: Set = [
        "ownAccount", "conversation", "conversationInfo", "message", "messages", "messagesReset", "messageUpdated",
        "notification", "notificationCounts", "notifications", "ownNotificationSettings", "sent", "contactRequests",
    ]
    /// Requests of conversations, messages and notifications: a feature decodes them.
    static let featureRequests: Set = [
        "changeMembers", "conversationSettings", "deleteMessage", "editMessage", "getConversation", "getMessages",
        "getNotifications", "mark", "markNotifications", "renameConversation", "send", "requestContact",
        "answerContact",
    ]
    /// Examples that the codec knows only in part: a feature adds members to them.
    private static func isWhole(_ example: Example) -> Bool {
        example.type != "conversationCreated" && !example.json.contains("\"messagesVersion\"")
            && !example.json.contains("\"conversationList\"") && !example.json.contains("\"notifications\":{")
    }

    @Test(arguments: [Example.protocolPage, Example.asyncAPI])
    func `both documents show every message of both sides`(examples: [Example]) {
        func types(_ sender: Example.Sender) -> Set<String> {
            Set(examples.filter { $0.sender == sender }.map(\.type))
        }
        expect(types(.client), equals: Self.clientTypes.union(Self.featureRequests))
        expect(types(.server), equals: Self.serverTypes.union(Self.featureTypes))
    }

    @Test(arguments: Example.all.filter { $0.sender == .client && !featureRequests.contains($0.type) })
    func `every example of a client is decoded, and the same after being encoded`(example: Example) throws {
        let message = try client(example.json)
        try expect(ClientMessage.decode(message.encoded()), equals: message)
    }

    @Test(arguments: Example.all.filter { $0.sender == .server })
    func `every example of the server is decoded, and encoded to the very same bytes`(example: Example) throws {
        let message = try server(example.json)
        if Self.featureTypes.contains(example.type) {
            guard case .unknown = message else {
                Issue.record("known")
                return
            }
            return
        }
        if case .unknown = message { Issue.record("not known") }
        if Self.isWhole(example) { expect(String(json: message.encoded()), equals: example.json) }
    }

    /// A client's message that is cut short is rejected, wherever it is cut.
    @Test(arguments: Example.all)
    func `an example cut at any byte is refused`(example: Example) {
        for length in 0..<example.bytes.count {
            let part = Array(example.bytes.prefix(length))
            switch example.sender {
            case .client: expect(refusal(of: part)?.code, equals: .badRequest, "\(length) bytes")
            case .server: #expect(throws: DecodingFailure.self) { try ServerMessage.decode(part) }
            }
        }
    }
}

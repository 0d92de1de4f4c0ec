import Expectations
import Foundation
import PresenceKit
import Testing

@testable import PresenceMessages

/// Messages and conversations as values.
struct ValueTests {
    private let date = Date(timeIntervalSince1970: 1_763_712_000)

    @Test func `a message has the defaults that were asked for`() {
        let message = Message(conversationId: "c", senderId: "ana", text: "hi", timestamp: date)
        expect(message.status == .sending && message.statusUpdatedAt == date && message.schemaVersion == 1)
        expect(message.editHistory == nil && message.editCount == 0 && !message.isEdited && !message.isDeleted)
        expect(message.readBy.isEmpty && message.readCount == 0 && !message.isPriority && message.attachments.isEmpty)
        expect(
            UUID(uuidString: message.id) != nil
                && message.id != Message(conversationId: "c", senderId: "a", text: "").id)
    }

    @Test func `the 10 newest earlier texts are kept, and all edits are counted`() {
        var message = Message(conversationId: "c", senderId: "ana", text: "0", timestamp: date)
        for number in 1...12 { message.edit("\(number)", at: date) }
        expect(message.text == "12" && message.editCount == 12 && message.isEdited)
        expect(message.editHistory?.map(\.text), equals: (2...11).map { "\($0)" })
        message.delete(by: "ana", at: date)
        expect(message.isDeleted && message.text.isEmpty && message.editHistory == nil && message.deletedBy == "ana")
    }

    @Test func `a message comes back from JSON as it was, whole or with what may be missing`() throws {
        var message = Message(
            conversationId: "c", senderId: "ana", text: "hi", timestamp: date, status: .read,
            attachments: [MessageAttachment(type: .image, url: "https://example.org/a", sizeBytes: 7)],
            isPriority: true, priorityReason: "now", sequence: 4, version: 9)
        message.edit("ho", at: date)
        message.failure = PresenceError(.forbidden, "no")
        let again = try JSONDecoder().decode(Message.self, from: JSONEncoder().encode(message))
        expect(again, equals: message)
        let least = #"{"id":"m","conversationId":"c","senderId":"a","text":"x","timestamp":0}"#
        try expect(JSONDecoder().decode(Message.self, from: Data(least.utf8)).schemaVersion, equals: 1)
        let later = #"{"id":"m","conversationId":"c","senderId":"a","text":"x","timestamp":0,"schemaVersion":2}"#
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Message.self, from: Data(later.utf8)) }
    }

    @Test func `an attachment and an earlier text come back from JSON as they were`() throws {
        for kind in MessageAttachment.Kind.allCases {
            let attachment = MessageAttachment(
                id: "a1", type: kind, url: "https://example.org/a", thumbnailURL: "https://example.org/t",
                sizeBytes: 5_000_000_000)
            let data = try JSONEncoder().encode(attachment)
            try expect(JSONDecoder().decode(MessageAttachment.self, from: data), equals: attachment)
            expect(String(decoding: data, as: UTF8.self).contains("\"\(kind.rawValue)\""))
        }
        expect(MessageAttachment.Kind.allCases.map(\.rawValue), equals: ["image", "video", "file"])
        expect(MessageAttachment(type: .file, url: "https://example.org/a", sizeBytes: 1).thumbnailURL, equals: nil)
        let edit = MessageEdit(text: "before", editedAt: date)
        try expect(JSONDecoder().decode(MessageEdit.self, from: JSONEncoder().encode(edit)), equals: edit)
    }

    @Test func `a conversation has the defaults that were asked for`() {
        let conversation = ChatConversation(id: "c", kind: .group, participants: ["ana", "bob", "cy"], createdAt: date)
        expect(conversation.isGroup && conversation.groupName == nil && conversation.createdAt == date)
        expect(conversation.lastMessage == nil && conversation.lastMessageTimestamp == nil)
        expect(conversation.lastMessageId == nil && conversation.lastMessageSenderId == nil)
        expect(conversation.unreadCount == 0 && conversation.unreadCounts == ["ana": 0, "bob": 0, "cy": 0])
        expect(!conversation.hasUnreadPriority && conversation.priorityCount == 0)
        expect(!conversation.isMuted && conversation.mutedUntil == nil)
        expect(!conversation.isArchived && conversation.archivedAt == nil && conversation.schemaVersion == 1)
        var muted = conversation
        muted.isMuted = true
        expect(muted.isMuted(at: date) && !conversation.isMuted(at: date))
        muted.mutedUntil = date
        expect(!muted.isMuted(at: date) && muted.isMuted(at: date - 1))
    }

    @Test func `there is room for ten`() {
        let people = (1...10).map { "u\($0)" }
        let nine = ChatConversation(id: "g", kind: .group, participants: Array(people.dropLast()))
        expect(nine.canAddParticipant() && !nine.canAddParticipant(limit: 9))
        expect(!ChatConversation(id: "g", kind: .group, participants: people).canAddParticipant())
        expect(!ChatConversation(id: "d", kind: .direct, participants: ["u1", "u2"]).canAddParticipant())
    }

    @Test func `texts and attachments have the server's limits`() throws {
        try Message.Rule.check(text: String(repeating: "x", count: 5_000))
        try Message.Rule.check(text: String(repeating: "é", count: 5_000) + "")
        try Message.Rule.check(text: "a\n\tb")
        let picture = MessageAttachment(type: .image, url: "https://example.org/a", sizeBytes: 0)
        try Message.Rule.check(text: "", attachments: Array(repeating: picture, count: 10))
        for host in ["127.0.0.1:8080", "localhost", "[::1]:8080"] {
            let here = MessageAttachment(type: .file, url: "http://\(host)/a", sizeBytes: 1)
            try Message.Rule.check(text: "", attachments: [here])
        }
        let longest = "https://example.org/" + String(repeating: "a", count: 2_028)
        try Message.Rule.check(text: "", attachments: [MessageAttachment(type: .file, url: longest, sizeBytes: 1)])
        let refused: [(String, [MessageAttachment], String)] = [
            ("", [], "text"), (String(repeating: "x", count: 5_001), [], "text"),
            (String(repeating: "👨‍👩‍👧", count: 1_200), [], "text"), ("a\u{85}", [], "text"),
            ("", Array(repeating: picture, count: 11), "attachments"),
            ("", [MessageAttachment(type: .file, url: "http://example.org/a", sizeBytes: 1)], "attachments"),
            ("", [MessageAttachment(type: .file, url: "http://127.example.org/a", sizeBytes: 1)], "attachments"),
            ("", [MessageAttachment(type: .file, url: "https://example.org/a", sizeBytes: -1)], "attachments"),
            ("", [MessageAttachment(type: .file, url: "https://example.org/a", sizeBytes: .max)], "attachments"),
            ("", [MessageAttachment(id: "", type: .file, url: "https://example.org/a", sizeBytes: 1)], "attachments"),
            ("", [MessageAttachment(type: .file, url: "https://example.org/é", sizeBytes: 1)], "attachments"),
            ("", [MessageAttachment(type: .file, url: "https://ana@example.org/a", sizeBytes: 1)], "attachments"),
            ("", [MessageAttachment(type: .file, url: longest + "a", sizeBytes: 1)], "attachments"),
        ]
        for (text, attachments, field) in refused {
            let error = #expect(throws: PresenceError.self) {
                try Message.Rule.check(text: text, attachments: attachments)
            }
            expect(error?.field, equals: field)
        }
    }

    @Test func `a conversation is named after its group, its members, or the other one`() {
        let names = ["bob": "Bob", "cy": "Cy"]
        let direct = ChatConversation(id: "c", kind: .direct, participants: ["ana", "bob"])
        expect(
            direct.displayName(for: "ana", names: names) == "Bob"
                && direct.displayName(for: "bob", names: names) == "Unknown")
        expect(!direct.isGroup && !direct.canAddParticipant())
        var group = ChatConversation(id: "g", kind: .group, participants: ["ana", "bob", "cy"])
        expect(group.displayName(for: "ana", names: names) == "Bob, Cy" && group.canAddParticipant())
        group.groupName = "Trip"
        expect(group.displayName(for: "ana", names: names) == "Trip" && !group.canAddParticipant(limit: 3))
    }

    @Test func `a conversation of a later schema version is refused, and what may be missing is that of a new one`()
        throws
    {
        let least = #"{"id":"c","kind":"group","participants":["ana","bob"],"createdAt":0}"#
        let conversation = try JSONDecoder().decode(ChatConversation.self, from: Data(least.utf8))
        expect(
            conversation,
            equals: ChatConversation(
                id: "c", kind: .group, participants: ["ana", "bob"],
                createdAt: Date(timeIntervalSinceReferenceDate: 0)))
        let later = #"{"id":"c","kind":"group","participants":[],"createdAt":0,"schemaVersion":2}"#
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ChatConversation.self, from: Data(later.utf8)) }
    }

    @Test func `changes and notifications come back from JSON as they were`() throws {
        let kinds: [MessageChange.Kind] = [
            .edit(message: "m", text: "x"), .delete(message: "m"), .mute(until: date), .mute(until: nil), .unmute,
            .archive(false),
        ]
        for kind in kinds {
            var change = MessageChange(conversationId: "c", user: "ana", kind: kind, madeAt: date)
            change.failure = PresenceError(.forbidden, "no", retryAfter: .seconds(1))
            try expect(JSONDecoder().decode(MessageChange.self, from: JSONEncoder().encode(change)), equals: change)
        }
        let notification = UserNotification(
            id: "n", sequence: 7, kind: "order", title: "Shipped", body: "Today", data: .object(["n": .array([.null])]),
            timestamp: date, isSeen: true)
        try expect(
            JSONDecoder().decode(UserNotification.self, from: JSONEncoder().encode(notification)), equals: notification)
        for status in MessageStatus.allCases {
            try expect(
                JSONDecoder().decode([MessageStatus].self, from: JSONEncoder().encode([status])), equals: [status])
        }
    }

    @Test func `a conversation is read from the protocol, and comes back from JSON as it was`() throws {
        let text = """
            {"id":"c1","version":9,"kind":"direct","participants":["ana","bob"],"members":[
            {"user":"ana","read":50,"delivered":58},{"user":"bob","delivered":57}],"createdAt":1763712000000,"first":1,
            "last":58,"lastMessage":{"id":"m","seq":58,"version":3,"from":"bob","at":1763712000000,"text":"On my way",
            "priority":{"reason":"now"}},"unread":8,"hasUnreadPriority":true,"priorityCount":1,"muted":true,
            "metadata":{"colour":"red","n":[1,2.5,null,{"deep":true}]},"later":1}
            """
        let wire = try Wire.read(Wire.Conversation.self, Data(text.utf8))
        let conversation = try #require(ChatConversation(wire, of: "ana"))
        expect(conversation.viewer == "ana" && conversation.unreadCount(for: "eve") == nil)
        expect(conversation.unreadCount(for: "ana") == 8 && conversation.unreadCount(for: "bob") == nil)
        expect(conversation.unreadCounts == ["ana": 8] && conversation.unreadCount == 8)
        expect(conversation.lastMessageId == "m" && conversation.lastMessageSenderId == "bob")
        expect(conversation.lastMessageTimestamp == date && conversation.lastMessage?.isPriority == true)
        expect(conversation.isMuted && conversation.mutedUntil == nil && conversation.hasUnreadPriority)
        expect(
            conversation.metadata?["n"],
            equals: .array([.number(1), .number(2.5), .null, .object(["deep": .bool(true)])]))
        let again = try JSONDecoder().decode(ChatConversation.self, from: JSONEncoder().encode(conversation))
        expect(again, equals: conversation)
        let gone = try Wire.read(Wire.Conversation.self, Data(#"{"id":"c1","version":10,"removed":true}"#.utf8))
        expect(ChatConversation(gone, of: "ana"), equals: nil)
    }

    @Test func `what somebody wrote counts as read by them up to there`() throws {
        // There are ten messages: ana has read two and sent the eighth; bob has read none and sent the last.
        let text = """
            {"id":"c1","version":9,"kind":"group","participants":["ana","bob","cy"],"members":[
            {"user":"ana","read":2,"delivered":10},{"user":"bob","read":0,"delivered":10},
            {"user":"cy","read":3,"delivered":10}],"createdAt":0,"first":1,"last":10,
            "lastMessage":{"id":"m","seq":10,"version":3,"from":"bob","at":0,"text":"On my way"},"unread":2}
            """
        let wire = try Wire.read(Wire.Conversation.self, Data(text.utf8))
        let conversation = try #require(ChatConversation(wire, of: "ana"))
        expect(conversation.unreadCounts, equals: ["ana": 2, "bob": 0, "cy": 7])
        try expect(#require(ChatConversation(wire, of: nil)).unreadCounts, equals: ["ana": 8, "bob": 0, "cy": 7])
    }
}

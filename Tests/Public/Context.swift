import Foundation
import Logging
import PresenceAccounts
import PresenceKit
import PresenceMessages
import PresenceTesting

// What the documents' code takes for granted: an app's own names. It is compiled, and never run.

let url = URL(string: "wss://presence.example.org/v1/ws")!
@Sendable func fetchToken() async throws -> String { "" }

let client = PresenceClient(url: url, token: "")
let messages = PresenceMessenger(client)
let notifications = PresenceNotifications(client)
let conversation = ChatConversation(id: "c1", kind: .direct, participants: ["ana", "bob"])
let trip = ChatConversation(id: "g1", kind: .group, participants: ["ana", "bob", "cy"])
let message = Message(conversationId: "c1", senderId: "ana", text: "On my way")
let notification = UserNotification(id: "n1", sequence: 1, kind: "order", title: "Shipped")
let pushToken = "token"
let picture = URL(fileURLWithPath: "/tmp/beach.jpg")
let names = ["bob": "Bob"]
@MainActor var label = ""

func show(_ text: String) {}
func show<Value>(_ list: [Value]) {}
func show(_ list: MessageList) {}
func show<Value>(_ list: [Value], changed: ListChanges) {}
func show<Value>(_ list: [Value], badge: Int) {}

// As much of SwiftUI as the comments of models need.

protocol View {}

extension View {
    func badge(_ count: Int) -> some View { self }
    func task(_ action: @escaping @MainActor () async -> Void) -> some View { self }
}

struct List: View {
    @MainActor init<Value, Row: View>(_ values: [Value], row: (Value) -> Row) {}
}

struct Text: View {
    init(_ text: String) {}
}

struct PersonRow: View {
    init(_ person: Person) {}
}

struct MessageRow: View {
    init(_ message: Message, status: String?) {}
}

struct AttachmentRow: View {
    init(_ name: String, progress: String?, error: String?) {}
}

struct NotificationRow: View {
    init(_ notification: UserNotification) {}
}

@MainActor func withView(_ body: () -> some View) { _ = body() }

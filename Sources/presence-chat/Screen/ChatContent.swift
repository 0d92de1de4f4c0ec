import Foundation
import PresenceKit
import PresenceMessages

// The content of the screen, made from the models.
extension ChatScreen.Content {
    @MainActor
    init(_ model: ConversationModel, _ roster: RosterModel, _ connection: ConnectionState, in zone: TimeZone) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        title = model.title
        subtitle = Self.subtitle(roster)
        self.connection = connection
        hasEarlier = model.hasEarlier
        typing = model.typing.text
        notice = model.errorMessage
        isEditing = model.editing != nil
        rows = model.messages.map { message in
            let time = calendar.dateComponents([.hour, .minute], from: message.timestamp)
            return ChatScreen.Row(
                time: Self.digits(time.hour) + ":" + Self.digits(time.minute),
                sender: model.isOwn(message) ? "you" : model.sender(of: message), isOwn: model.isOwn(message),
                text: Self.text(of: message), isDeleted: message.isDeleted, isEdited: message.isEdited,
                priority: message.isPriority ? message.priorityReason ?? "" : nil,
                status: model.statusText(of: message), isFailed: message.status == .failed)
        }
    }

    private static func digits(_ number: Int?) -> String {
        let text = String(number ?? 0)
        return text.count < 2 ? "0" + text : text
    }

    /// The text, and a line for each attachment.
    private static func text(of message: Message) -> String {
        let attachments = message.attachments.map { "[\($0.type.rawValue), \(size($0.sizeBytes)): \($0.url)]" }
        return ([message.text] + attachments).filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private static func size(_ bytes: Int64) -> String {
        switch bytes {
        case ..<1_000: "\(bytes) B"
        case ..<1_000_000: "\(bytes / 1_000) KB"
        default: "\(bytes / 1_000_000) MB"
        }
    }

    @MainActor
    private static func subtitle(_ roster: RosterModel) -> String {
        if roster.users.count > 1 { return "\(roster.users.count + 1) people, \(roster.online.count + 1) here" }
        guard let person = roster.people.first, person.presence.isKnown else { return "" }
        return person.presence.text ?? person.presence.status.rawValue
    }
}

import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

extension SimulatedShard {
    /// Records a member's upload, without files, and returns it in the form that messages have.
    func attach(to id: ConversationID, by user: String) -> String {
        let keys = logic.partitions.keys(of: id)
        let name = StoredName(near: id, in: logic.partitions)
        run(
            .attach,
            keys: [
                keys.shards, keys.floor, keys.conversation(id), keys.attachments(id), keys.attachmentsDue,
                keys.attachment(name),
            ],
            arguments: [
                keys.events, logic.link.incarnation, id.string, user, name.text,
                String(logic.configuration[Attachments.unusedFor]), "size", "1",
            ], lane: .commands
        ) { _ in }
        return #"{"id":"a","kind":"file","url":"https://e.org/v1/attachments/\#(name.text).bin","sizeBytes":1}"#
    }
}

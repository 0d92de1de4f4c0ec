import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Direct conversations of a `VisibilityHistory`, in which users write and type while they block each other. Requests
/// made after a block was acknowledged are stored and shown nowhere; blocks in an unknown state are not counted.
final class VisibilityTalks {
    /// One user's block of another.
    private struct Block: Hashable {
        let user: String
        let other: String
    }

    private let world: World
    /// The two members of each conversation.
    private(set) var members: [String: [String]] = [:]
    /// The time of each block's acknowledgement.
    private var blocks: [Block: Milliseconds] = [:]
    private var unblockAsked: [Block: Milliseconds] = [:]
    /// Requested blocks, by client and request.
    private var asked: [Request: (blocks: [Block], at: Milliseconds)] = [:]
    /// The time of each message's request, and the times at which each user asked to be shown typing in a conversation.
    private var sends: [String: Milliseconds] = [:]
    private var typings: [String: [Milliseconds]] = [:]
    private var requests: Int64 = 1_000_000
    private(set) var leaks: [String] = []

    private struct Request: Hashable {
        let client: ObjectIdentifier
        let id: Int64
    }

    /// In ms: the longest delay of a command whose sender has given it up, and the longest time for which typing is
    /// shown.
    private static let doubt: Milliseconds = 5_000
    private static let typingLasts: Milliseconds = 15_000

    init(_ world: World) { self.world = world }

    // MARK: Requests

    private func send(_ client: SimulatedClient, _ json: String) {
        requests += 1
        client.sendText(#"{"id":\#(requests),\#(json)}"#)
    }

    func create(_ client: SimulatedClient, with other: String) {
        guard client.user != other else { return }
        send(client, #""type":"createConversation","participants":["\#(other)"]"#)
    }

    func talks(of client: SimulatedClient) -> [String] {
        members.filter { $0.value.contains(client.user) }.keys.sorted()
    }

    func follow(_ client: SimulatedClient) {
        for talk in talks(of: client) { send(client, #""type":"subscribe","conversations":[{"id":"\#(talk)"}]"#) }
    }

    func write(_ client: SimulatedClient, in talk: String) {
        let id = "m\(requests)"
        sends[id] = world.now
        send(client, #""type":"send","conversation":"\#(talk)","message":{"id":"\#(id)","text":"\#(id)"}"#)
    }

    func type(_ client: SimulatedClient, in talk: String) {
        typings["\(talk) \(client.user)", default: []].append(world.now)
        client.send(.typing(conversation: ConversationID(talk)!, typing: true))
    }

    func block(_ client: SimulatedClient, _ users: [UserID]) {
        let blocks = users.map { Block(user: client.user, other: $0.string) }
        asked[Request(client: ObjectIdentifier(client), id: client.nextRequest)] = (blocks, world.now)
        client.send(.block(users))
    }

    func unblock(_ client: SimulatedClient, _ users: [UserID]) {
        for user in users {
            let block = Block(user: client.user, other: user.string)
            unblockAsked[block] = world.now
            blocks[block] = nil
        }
        client.send(.unblock(users))
    }

    // MARK: Received messages

    func receive(_ message: ServerMessage, _ client: SimulatedClient) {
        switch message {
        case .ok(let id): acknowledged(id, client)
        case .conversationCreated(_, let conversation):
            members[conversation.id.string] = conversation.participants.map(\.string).sorted()
        case .typing(let event): judge(event.users, in: event.conversation, for: client)
        case .subscribed(_, _, let conversations, _):
            for each in conversations { judge(each.typing, in: each.conversation, for: client) }
            judgeMessages(client)
        case .unknown: judgeMessages(client)
        default: break
        }
    }

    private func acknowledged(_ id: Int64, _ client: SimulatedClient) {
        guard let request = asked.removeValue(forKey: Request(client: ObjectIdentifier(client), id: id)) else { return }
        for block in request.blocks where blocks[block] == nil {
            // The end of the block may have arrived after this block.
            if let other = unblockAsked[block], other > request.at - Self.doubt { continue }
            blocks[block] = world.now
        }
    }

    /// The time since which a block between the two members has been acknowledged; `nil`: none for certain.
    private func since(_ talk: String) -> Milliseconds? {
        guard let pair = members[talk], pair.count == 2 else { return nil }
        return [Block(user: pair[0], other: pair[1]), Block(user: pair[1], other: pair[0])].compactMap { blocks[$0] }
            .min()
    }

    private func judge(_ users: [UserID], in conversation: ConversationID, for client: SimulatedClient) {
        let talk = conversation.string
        guard let since = since(talk) else { return }
        for user in users where user.string != client.user {
            let begun = typings["\(talk) \(user.string)"] ?? []
            // Typing that began before the block may be shown until it expires.
            if begun.contains(where: { $0 <= since && $0 > world.now - Self.typingLasts }) { continue }
            leaks.append("\(client.user) was shown \(user) typing at \(world.now), blocked at \(since)")
        }
    }

    /// Messages in events, replies to their sender, and catch-ups.
    private func judgeMessages(_ client: SimulatedClient) {
        guard let text = client.texts.last,
            let told = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        else { return }
        judge(told, client)
        for part in told["conversations"] as? [[String: Any]] ?? [] {
            for message in part["messages"] as? [[String: Any]] ?? [] {
                judge(["conversation": part["conversation"] ?? "", "message": message], client)
            }
        }
    }

    private func judge(_ told: [String: Any], _ client: SimulatedClient) {
        guard let talk = told["conversation"] as? String, let since = since(talk),
            let id = (told["message"] as? [String: Any])?["id"] as? String, let at = sends[id], at > since
        else { return }
        leaks.append("\(client.user) was told message \(id), asked for at \(at), blocked at \(since)")
    }
}

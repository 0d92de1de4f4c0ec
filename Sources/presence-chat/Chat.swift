import Foundation
import PresenceKit
import PresenceMessages
import TerminalClients

/// The signed-in user on a server, until a conversation is shown.
struct Chat: Sendable {
    let client: PresenceClient
    private let messages: PresenceMessenger
    private let address: ServerAddress
    private let token: TokenSource
    /// A warning about the storage.
    private let notice: String?

    /// - Parameter storage: a directory; `nil` for the default one.
    init(address: ServerAddress, token: TokenSource, storage: String?) throws(Failure) {
        self.address = address
        self.token = token
        let user = TokenSubject.user(of: try token.read())
        let (kept, notice) = try Self.open(storage, address, user: user)
        self.notice = notice
        client = token.client(at: address, device: Device(kind: .other, name: "presence-chat"), storage: kept)
        messages = PresenceMessenger(client)
    }

    private static func open(
        _ directory: String?, _ address: ServerAddress, user: String?
    ) throws(Failure) -> (Storage, notice: String?) {
        do {
            if let directory { return (try .directory(URL(fileURLWithPath: directory)), nil) }
            let names = [address.shortText, user ?? "unknown"].map {
                $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? $0
            }
            return (try .standard("presence-chat/\(names[0])/\(names[1])"), nil)
        } catch let error as PresenceError where error.code == .storageInUse {
            if directory != nil { throw Failure(.usage, error.message) }
            return (.memory(), "this user already has a chat running: unsent messages are lost when this one ends")
        } catch {
            throw Failure(
                .usage,
                "messages cannot be stored: \((error as? PresenceError)?.message ?? "\(error)"); --storage names another directory"
            )
        }
    }

    // MARK: Running

    func run(_ place: Place) async throws(Failure) -> Outcome {
        // Checked before a conversation is created that could not be shown.
        guard place == .list || Self.hasTerminal else { throw Failure(.terminal, "a terminal is needed") }
        client.connect()
        let user = try await ownUser(offline: place.isKnown)
        if place == .list { return try await printList(of: user) }
        let conversation = try await open(place)
        return await show(conversation, to: user)
    }

    /// The signed-in user, once there is a connection; with `offline`, as soon as they are known.
    private func ownUser(offline: Bool) async throws(Failure) -> String {
        var hasConnected = false
        for await state in client.connectionStates {
            hasConnected = hasConnected || state.isConnected
            if state.isConnected || offline, let user = await client.me.user { return user }
            let failure = Failure(
                state, hasConnected: hasConnected, tokenIsRenewable: token.isRenewable, address: address.shortText)
            if let failure { throw failure }
        }
        throw Failure(.noServer, "no connection to \(address.shortText)")
    }

    private func open(_ place: Place) async throws(Failure) -> String {
        do {
            switch place {
            case .direct(let other): return try await messages.directConversation(with: other).id
            case .group(let others, let name):
                let key = Place.key(of: others, name: name)
                return try await messages.createGroup(with: others, name: name, key: key).id
            case .known(let id):
                return id
            case .list: preconditionFailure("a list is not opened")
            }
        } catch let error as PresenceError {
            throw Failure(error, address: address.shortText)
        } catch {
            throw Failure(.other, "\(error)")
        }
    }

    private func printList(of user: String) async throws(Failure) -> Outcome {
        var list: [ChatConversation] = []
        for await newer in messages.conversationList {
            list = newer
            break
        }
        for line in await lines(list, user) where !Output.standard.write(line + "\n") { throw Failure.outputLost }
        return .done
    }

    /// One line for each conversation: id, number of unread messages, title, newest message.
    @MainActor
    private func lines(_ list: [ChatConversation], _ user: String) -> [String] {
        let model = ConversationListModel(user: user, messages: messages)
        return list.map { conversation in
            let unread = conversation.unreadCount == 0 ? "" : "\(conversation.unreadCount) unread"
            let parts = [conversation.id, unread, model.title(of: conversation), model.preview(of: conversation)]
            return parts.map { Label($0).text }.joined(separator: "\t")
        }
    }

    private static var hasTerminal: Bool { isatty(STDOUT_FILENO) == 1 && Terminal() != nil }

    @MainActor
    private func show(_ conversation: String, to user: String) async -> Outcome {
        guard isatty(STDOUT_FILENO) == 1, let terminal = Terminal() else {
            return .failed(Failure(.terminal, "a terminal is needed"))
        }
        let window = ChatWindow(
            conversation, user: user, client: client, messages: messages, address: address, token: token,
            terminal: terminal)
        return await window.run(notice)
    }
}

extension Place {
    /// Whether it can be shown without a connection.
    var isKnown: Bool { if case .known = self { true } else { false } }
}

import Foundation
import PresenceProtocol

// For other libraries: requests and events of types that PresenceKit does not know, and its queue of writes.
extension PresenceClient {
    /// Receives events. It must not block.
    package typealias LibraryListener = @Sendable (LibraryEvent) -> Void

    /// Reports events to a library for the lifetime of this client, beginning with the current connection if there is
    /// one.
    package func attach(_ listener: @escaping LibraryListener) async {
        await runner.attach(listener)
    }

    /// Connects as the app's first use does: not after the client was closed, so not after a sign-out.
    package func beginConnecting() { post(.use) }

    /// The account has a session again. Like the next two functions, this takes effect before any later call.
    package func userSignedIn() { post(.signedIn) }

    /// The user signed out of the account: all data is deleted, as by ``signOut()``.
    package func userSignedOut() { post(.signOut(.none)) }

    /// Another user signed in to the account: the client changes to that user, as by ``switchUser(token:)``.
    package func userChanged() { post(.switchUser(.none)) }

    /// Makes a request of a type that another library knows, on the current connection or on the first one made within
    /// ``Configuration/requestTimeout``.
    ///
    /// - Parameter members: a JSON object, without `type` and `id`.
    /// - Returns: the parts of the raw reply. Only `subscribed` with `more` has several.
    /// - Throws: the server's error; `connectionLost` or `timedOut`, with `outcomeUnknown` if the request was sent;
    ///   `notConnected`, with the reason in its message, if no connection is coming; `signedOut`; `cancelled`, which a
    ///   call of the app throws as ``PresenceError/thrown``.
    package func ask(type: String, members: Data) async throws(PresenceError) -> [Data] {
        switch await runner.ask({ .call($0, .other(OtherRequest(type: type, members: members))) }) {
        case .success(.other(let parts)): return parts
        case .success(let reply): preconditionFailure("not an answer to \(type): \(reply)")
        case .failure(let error): throw error
        }
    }

    /// Keeps a subscription to the typing users of a conversation for the life of the returned observation, without
    /// reading values.
    ///
    /// - Throws: `invalidID`.
    package func observeTyping(in conversation: String) async throws(PresenceError) -> ObservationShare {
        guard let id = ConversationID(conversation) else { throw .invalidID(conversation) }
        return ObservationShare(runner: runner, id: await runner.observe(.typing(id)))
    }

    /// Appends a write to the queue; it is stored when this returns.
    package func keep(_ write: QueuedWrite) async throws {
        try await runner.waitForStorage { [storage = runner.storage] in try await storage.writes.append(write) }
    }

    /// Removes writes from the queue; they are removed when this returns.
    package func removeWrites(_ ids: [String]) async throws {
        try await runner.waitForStorage { [storage = runner.storage] in try await storage.writes.remove(ids) }
    }

    /// Returns the owner of the storage, and its pending writes of these kinds.
    package func keptWrites(ofKinds kinds: Set<String>) async throws -> (owner: String?, writes: [QueuedWrite]) {
        try await runner.waitForStorage { [storage = runner.storage] in
            let (owner, writes) = try await storage.writes.load()
            return (owner, writes.filter { kinds.contains($0.kind) })
        }
    }

    /// Returns a token of the user for HTTP requests: the connection's token, or a new one if there is no connection or
    /// its token equals `refused`.
    ///
    /// - Throws: the token provider's error, or `tokenUnavailable` if that is no ``PresenceError`` or is the rejection of
    ///   a request of accounts, or if the provider exceeds ``Configuration/tokenTimeout``; `cancelled`, as ``ask(type:members:)``.
    package func token(insteadOf refused: String? = nil) async throws(PresenceError) -> String {
        try await runner.token(insteadOf: refused).get()
    }

    /// The user named by a token; `nil` if it is not a readable JWT with a subject. The token is not verified.
    package static func user(of token: String) -> String? { TokenSubject.user(of: token)?.string }

    /// The server's WebSocket URL, as given.
    package var webSocketURL: URL { runner.url }

    /// The signed-in user's id, as far as known. Without a connection it comes from the token or from an earlier
    /// process.
    package var ownID: String? {
        get async { await runner.inspect { $0.me.writer?.string } }
    }
}

import Foundation
import PresenceProtocol

// For other libraries: requests and events of types that PresenceKit does not know, and its queue of writes.
extension PresenceClient {
    /// Receives events, one at a time. It must wait for nothing but the storage and its own tasks.
    package typealias LibraryListener = @Sendable (LibraryEvent) async -> Void

    /// Reports events to a library for the lifetime of this client, beginning with ``LibraryEvent/attached(_:)`` and the
    /// current connection, if there is one.
    package func attach(_ listener: @escaping LibraryListener) async {
        await runner.attach(listener)
    }

    /// Connects as the app's first use does: not after the client was closed, so not after a sign-out.
    package func beginConnecting() { post(.use) }

    /// The account has a session again. Like the next two functions, this takes effect before any later call.
    package func userSignedIn(_ user: String) { post(.signedIn(UserID(user))) }

    /// The user signed out of the account: all data is deleted, as by ``signOut()``.
    package func userSignedOut() { post(.signOut(.none)) }

    /// Waits until a former user's data is deleted, also that of the attached libraries.
    package func userIsForgotten() async { await runner.finishPending() }

    /// Makes a request of a type that another library knows, on the current connection or on the first one made within
    /// ``Configuration/requestTimeout``.
    ///
    /// - Parameters:
    ///   - members: a JSON object, without `type` and `id`.
    ///   - user: the user whose request it is.
    /// - Returns: the parts of the raw reply. Only `subscribed` with `more` has several.
    /// - Throws: the server's error; `connectionLost` or `timedOut`, with `outcomeUnknown` if the request was sent;
    ///   `notConnected`, with the reason in its message, if no connection is coming; `signedOut` if the user signed out or
    ///   was changed; `cancelled`, which a call of the app throws as ``PresenceError/thrown``.
    package func ask(type: String, members: Data, of user: UserNumber) async throws(PresenceError) -> [Data] {
        switch await runner.ask({ .call($0, .other(OtherRequest(type: type, user: user, members: members))) }) {
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
    ///
    /// - Throws: `signedOut` if the user signed out or was changed.
    package func keep(_ write: QueuedWrite, of user: UserNumber) async throws {
        try await runner.keep(write, of: user)
    }

    /// Removes writes from the queue; they are removed when this returns.
    package func removeWrites(_ ids: [String]) async throws {
        try await runner.waitForStorage { [storage = runner.storage] in try await storage.writes.remove(ids) }
    }

    /// Returns the user, as far as known, and the pending writes of these kinds, also of former users.
    package func keptWrites(ofKinds kinds: Set<String>) async throws -> (owner: String?, writes: [QueuedWrite]) {
        let (owner, writes) = try await runner.keptWrites()
        return (owner, writes.filter { kinds.contains($0.kind) })
    }

    /// Stores records for later launches: each replaces the record of its key, and `nil` removes it. Returns before they
    /// are stored; a former user's are dropped. With `erasing`, former values do not stay on the disk.
    package func keep(_ records: [(key: String, value: Data?)], erasing: Bool, of user: UserNumber) async {
        await runner.keep(records, erasing: erasing, of: user)
    }

    /// Returns the records that were kept for the owner of the storage.
    package func keptRecords() async -> [String: Data] { await runner.keptRecords() }

    /// Returns a token of the user for HTTP requests: the connection's token, or a new one if there is no connection or
    /// its token equals `refused`.
    ///
    /// - Throws: the token provider's error, or `tokenUnavailable` if that is no ``PresenceError`` or is the rejection of
    ///   a request of accounts, or if the provider exceeds ``Configuration/tokenTimeout``; `signedOut` and `cancelled` as
    ///   ``ask(type:members:of:)``.
    package func token(of user: UserNumber, insteadOf refused: String? = nil) async throws(PresenceError) -> String {
        try await runner.token(of: user, insteadOf: refused).get()
    }

    /// The user named by a token; `nil` if it is not a readable JWT with a subject. The token is not verified.
    package static func user(of token: String) -> String? { TokenSubject.user(of: token)?.string }

    /// The server's WebSocket URL, as given.
    package var webSocketURL: URL { runner.url }

    /// Returns the signed-in user's id, as far as known. Without a connection it comes from the account, the token or an
    /// earlier process.
    ///
    /// - Throws: `signedOut` after a sign-out; `notConnected` if the app closed the client.
    package func ownID() async throws(PresenceError) -> String? {
        try await runner.inspect { engine -> Result<String?, PresenceError> in
            if engine.link.isRetired { return .failure(.clientClosed) }
            return engine.isSignedOut ? .failure(.signedOut) : .success(engine.me.writer?.string)
        }.get()
    }
}

import Foundation
import PresenceProtocol

// What other libraries build on: requests and events of types that this one does not know, and its queue of writes.
extension PresenceClient {
    /// Takes what happens. It must not wait.
    package typealias LibraryListener = @Sendable (LibraryEvent) -> Void

    /// Tells a library what happens from now on, for as long as this client lives; first of the present connection, if
    /// there is one.
    package func attach(_ listener: @escaping LibraryListener) async {
        await runner.attach(listener)
    }

    /// Connects as an app's first use does: not after the connection was closed for good.
    package func beginConnecting() { post(.use) }

    /// The account has a session again. Takes effect before any call that is made after it, as the next two.
    package func userSignedIn() { post(.signedIn) }

    /// The user of the account signed out: everything is forgotten, as by ``signOut()``.
    package func userSignedOut() { post(.signOut(.none)) }

    /// Another user signed in to the account: goes on as that one, as by ``switchUser(token:)``.
    package func userChanged() { post(.switchUser(.none)) }

    /// Makes a request of a type that another library knows, on the present connection or on the first one that comes
    /// within ``Configuration/requestTimeout``.
    ///
    /// - Parameter members: a JSON object, without `type` and `id`.
    /// - Returns: the answer as it came, in its parts: one, but for `subscribed` with `more`.
    /// - Throws: what the server refused it with; `connectionLost` or `timedOut`, with `outcomeUnknown` if it was sent;
    ///   `notConnected` if there is no connection to wait for, whatever the reason, which is in its message; `signedOut`;
    ///   `cancelled`, which an app's call throws as ``PresenceError/thrown``.
    package func ask(type: String, members: Data) async throws(PresenceError) -> [Data] {
        switch await runner.ask({ .call($0, .other(OtherRequest(type: type, members: members))) }) {
        case .success(.other(let parts)): return parts
        case .success(let reply): preconditionFailure("not an answer to \(type): \(reply)")
        case .failure(let error): throw error
        }
    }

    /// Observes who types in a conversation, without looking: it is subscribed to as long as the observation lives.
    ///
    /// - Throws: `invalidID`.
    package func observeTyping(in conversation: String) async throws(PresenceError) -> ObservationShare {
        guard let id = ConversationID(conversation) else { throw .invalidID(conversation) }
        return ObservationShare(runner: runner, id: await runner.observe(.typing(id)))
    }

    /// Puts a write into the queue; it is kept when this returns.
    package func keep(_ write: QueuedWrite) async throws {
        try await runner.waitForStorage { [storage = runner.storage] in try await storage.writes.append(write) }
    }

    /// Takes writes out of the queue; they are gone when this returns.
    package func removeWrites(_ ids: [String]) async throws {
        try await runner.waitForStorage { [storage = runner.storage] in try await storage.writes.remove(ids) }
    }

    /// Whose storage it is, and what of these kinds waits in it.
    package func keptWrites(ofKinds kinds: Set<String>) async throws -> (owner: String?, writes: [QueuedWrite]) {
        try await runner.waitForStorage { [storage = runner.storage] in
            let (owner, writes) = try await storage.writes.load()
            return (owner, writes.filter { kinds.contains($0.kind) })
        }
    }

    /// A token of the user for requests over HTTP: that of the connection, or one that is fetched if there is none or if it
    /// is the one that was refused.
    ///
    /// - Throws: what the token provider throws, `tokenUnavailable` if that is no error of this library or if it does not
    ///   answer within ``Configuration/tokenTimeout``; `cancelled`, as ``ask(type:members:)``.
    package func token(insteadOf refused: String? = nil) async throws(PresenceError) -> String {
        try await runner.token(insteadOf: refused).get()
    }

    /// The user whom a token names; `nil` if it is not a readable JWT with a subject. It is not verified.
    package static func user(of token: String) -> String? { TokenSubject.user(of: token)?.string }

    /// The server's address, as given: that of its WebSocket.
    package var webSocketURL: URL { runner.url }

    /// The own user, as far as it is known: also without a connection, from the token or, without one, from an earlier
    /// process.
    package var ownID: String? {
        get async { await runner.look { $0.me.writer?.string } }
    }
}

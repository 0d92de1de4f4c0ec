import PresenceProtocol
import Redis
import Tokens

/// A user who changes something, by the token that they hold.
///
/// That token was good when the request was let in; by the time that Redis carries it out it may have been taken back, or its
/// user's account deleted. So the script that makes the change looks again, in the same step (`refusal` in lib.lua): what was
/// under way then changes nothing, however late it comes. The same goes for what a session said that has ended, or was replaced
/// by its device's next connection. What backends and the server itself change has no writer.
///
/// A script sees its own partition only. Where the change is in another one than its user, ``ShardLogic/unlessRevoked(_:done:_:)``
/// asks just before, and again after a standstill.
package struct Writer {
    /// The grant of their token, if the server itself issued that to a device.
    package let grant: Identifier?
    /// When the token was issued; 0 if it does not say.
    private let issuedAt: Timestamp
    /// The session that asked; `nil` over HTTP.
    let session: String?
    private let user: UserID
    private let home: PartitionKeys

    package init(_ session: Session) {
        (grant, issuedAt, self.session) = (session.grant, session.issuedAt, session.id)
        (user, home) = (session.user.id, session.user.keys)
    }

    init(_ claims: Claims, in partitions: Partitions) {
        (grant, issuedAt, session) = (claims.grant, claims.issuedAt ?? 0, nil)
        (user, home) = (claims.subject, partitions.keys(of: claims.subject))
    }

    /// What a script of the user's own partition gets as its last keys.
    package var keys: [String] { [key] + ending(with: grant.map { "g:" + $0.string } ?? "t:\(issuedAt)") }

    /// The same of one that reads the user's record anyway, and compares what that says.
    var keysBesideRecord: [String] { grant == nil ? ending(with: "u:\(issuedAt)") : keys }

    private func ending(with word: String) -> [String] {
        guard let session else { return [home.name + ":writer:" + word] }
        return [home.sessions(user), home.name + ":writer:" + word + " " + session]
    }

    /// All grants go with the tokens that are taken back, so one that is there is good.
    private var key: String { grant == nil ? home.user(user) : home.grants(user) }

    fileprivate var question: [String] {
        grant.map { ["HEXISTS", key, $0.string] } ?? ["HGET", key, "revokedAt"]
    }

    /// Whether its session is still there.
    fileprivate var sessionQuestion: [String]? { session.map { ["HEXISTS", home.sessions(user), $0] } }

    fileprivate func isRevoked(_ answer: RedisValue) -> Bool {
        grant == nil ? issuedAt < answer.int ?? 0 : answer.int == 0
    }
}

extension Writer? {
    /// What a script of the user's own partition gets as its last keys; none where a backend or the server itself writes.
    package var keys: [String] { self?.keys ?? [] }
}

extension ShardLogic {
    /// Asks Redis whether a token is still good; one command.
    func ask(about writer: Writer, answer: @escaping (Result<Bool, RedisFailure>) -> Void) {
        store.command(writer.question, lane: .commands) { answer($0.map { writer.isRevoked($0) }) }
    }

    /// Runs what a user wants in another partition than their own, if their token is good still and their session there; else
    /// `done` gets `REVOKED` or `ENDED`.
    ///
    /// A server that stood still before it came to the answer asks again. (No answer of Redis takes longer than
    /// `commandTimeout`.)
    package func unlessRevoked(_ writer: Writer, done: @escaping StoreReply, _ run: @escaping () -> Void) {
        let (asked, before) = (clock.now, standstills)
        var isHere = true
        if let question = writer.sessionQuestion {
            // A failure is that of the next question too, or of the script.
            store.command(question, lane: .commands) { if case .success(let value) = $0 { isHere = value.int != 0 } }
        }
        ask(about: writer) { [unowned self] result in
            switch result {
            case .success where standstills > before || clock.now - asked > configuration.commandTimeout:
                unlessRevoked(writer, done: done, run)
            case .success(true): done(.success(.array([.status("REVOKED")])))
            case .success(false) where !isHere: done(.success(.array([.status("ENDED")])))
            case .success(false): run()
            // As for every step of a change that is under way when Redis is lost.
            case .failure(let failure): done(.failure(failure))
            }
        }
    }
}

extension ShardLogic {
    /// The same in an async function: returns if the token is good still, and the session there.
    package func admit(_ writer: Writer) async throws(Refusal) {
        let result: Result<RedisValue, RedisFailure> = await tasks.wait { done in
            unlessRevoked(writer, done: done) { done(.success(.array([.status("OK")]))) }
        }
        if let refusal = Refusal(result) { throw refusal }
    }
}

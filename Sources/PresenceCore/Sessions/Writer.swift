import PresenceProtocol
import Redis
import Tokens

/// A user who changes something, by the token that they hold.
///
/// That token was good when the request was let in; by the time that Redis carries it out it may have been taken back, or its
/// user's account deleted. So the script that makes the change looks again, in the same step (`isRevoked` in lib.lua): what was
/// under way then changes nothing, however late it comes. What backends and the server itself change has no writer.
///
/// A script sees its own partition only. Where the change is in another one than its user, ``ShardLogic/unlessRevoked(_:done:_:)``
/// asks just before, and again after a standstill.
package struct Writer {
    /// The grant of their token, if the server itself issued that to a device.
    package let grant: Identifier?
    /// When the token was issued; 0 if it does not say.
    private let issuedAt: Timestamp
    private let user: UserID
    private let home: PartitionKeys

    package init(_ session: Session) {
        (grant, issuedAt) = (session.grant, session.issuedAt)
        (user, home) = (session.user.id, session.user.keys)
    }

    init(_ claims: Claims, in partitions: Partitions) {
        (grant, issuedAt) = (claims.grant, claims.issuedAt ?? 0)
        (user, home) = (claims.subject, partitions.keys(of: claims.subject))
    }

    /// What a script of the user's own partition gets as its last keys.
    package var keys: [String] {
        let word = grant.map { "g:" + $0.string } ?? "t:\(issuedAt)"
        return [key, home.name + ":writer:" + word]
    }

    /// The same of one that reads the user's record anyway, and compares what that says.
    var keysBesideRecord: [String] { grant == nil ? [home.name + ":writer:u:\(issuedAt)"] : keys }

    /// All grants go with the tokens that are taken back, so one that is there is good.
    private var key: String { grant == nil ? home.user(user) : home.grants(user) }

    fileprivate var question: [String] {
        grant.map { ["HEXISTS", key, $0.string] } ?? ["HGET", key, "revokedAt"]
    }

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

    /// Runs what a user wants in another partition than their own, if their token is good still; else `done` gets `REVOKED`.
    ///
    /// A server that stood still before it came to the answer asks again. (No answer of Redis takes longer than
    /// `commandTimeout`.)
    package func unlessRevoked(_ writer: Writer, done: @escaping StoreReply, _ run: @escaping () -> Void) {
        let asked = clock.now
        ask(about: writer) { [unowned self] result in
            switch result {
            case .success(false):
                guard clock.now - asked <= configuration.commandTimeout else {
                    return unlessRevoked(writer, done: done, run)
                }
                run()
            case .success(true): done(.success(.array([.status("REVOKED")])))
            // As for every step of a change that is under way when Redis is lost.
            case .failure(let failure): done(.failure(failure))
            }
        }
    }
}

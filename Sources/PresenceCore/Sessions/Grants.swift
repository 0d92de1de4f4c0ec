import PresenceProtocol

/// Makes a token of the installation's own for a user, or for a device of theirs (`grant`): for so long, from now. `nil` if there
/// is no secret.
package typealias TokenSigner = (_ user: UserID, _ grant: Identifier?, _ lifetime: Milliseconds, _ now: Timestamp) ->
    String?

/// Tokens that the server itself has issued to a device (`grant`). They are short, but a connection opened with one goes on
/// beyond it: that the device is signed out arrives as an event, and what an event might have missed, a look at the store
/// finds, at the token's end and once an hour.
extension ShardLogic {
    /// Between two looks at whether a device is still signed in. A million idle clients are 278 commands a second.
    static let grantCheck: Milliseconds = 3_600_000
    /// Until the next look when the store could not be asked.
    private static let grantPause: Milliseconds = 1_000

    /// Looks when it is time, and closes if the device is signed out. Returns when to come again.
    func checkGrant(_ grant: Identifier, of connection: Connection, _ due: Timestamp) -> Milliseconds? {
        let left = due - clock.redisNow
        guard left <= 0 else { return clock.now + left }
        guard link.isLive, let user = connection.session?.user else { return clock.now + Self.grantPause }
        connection.tokenExpiresAt = clock.redisNow + Self.grantCheck
        store.command(["HEXISTS", user.keys.grants(user.id), grant.string], lane: .commands) { [self] result in
            guard !connection.isClosed, let session = connection.session, session.grant == grant else { return }
            if case .success(let value) = result {
                if value.int == 0 { sessions.revoke(session) }
            } else {
                connection.tokenExpiresAt = clock.redisNow + Self.grantPause
                look(at: connection, clock.now + Self.grantPause)
            }
        }
        return clock.now + Self.grantCheck
    }
}

import PresenceProtocol

/// Signs a token of this installation for a user, or for one of their devices (`grant`), valid from now for the
/// lifetime. Returns `nil` if there is no secret.
package typealias TokenSigner = (_ user: UserID, _ grant: Identifier?, _ lifetime: Milliseconds, _ now: Timestamp) ->
    String?

/// Tokens that the server itself issued to a device (`grant`). They are short-lived, but a connection opened with such
/// a token outlives it. A sign-out arrives as an event. In case an event was missed, the grant is also read from the
/// store, at the token's end and once an hour.
extension ShardLogic {
    /// Interval between two checks of a grant. A million idle clients cause 278 commands a second.
    static let grantCheck: Milliseconds = 3_600_000
    /// Delay before the next check if the store was unreachable.
    private static let grantPause: Milliseconds = 1_000

    /// Checks the grant when it is due, and closes the connection if the device is signed out. Returns when to check again.
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
                scheduleCheck(of: connection, clock.now + Self.grantPause)
            }
        }
        return clock.now + Self.grantCheck
    }
}

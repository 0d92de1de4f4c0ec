import PresenceProtocol

/// One report of a session to Redis, with the state at the time of sending.
struct SessionReport {
    let session: Session
    let round: Int
    let number: Int
    let state: String
    let status: StatusChange?
    /// Whether it includes the user's chosen status.
    let hasStatus: Bool
    let policy: Int64
    /// Whether Redis might have had the session before.
    let wasStored: Bool

    init(_ session: Session, round: Int, policy: Int64, hasStatus: Bool) {
        session.assertedRound = round
        session.storedState = nil
        session.reports += 1
        self.session = session
        self.round = round
        self.policy = policy
        self.hasStatus = hasStatus
        number = session.reports
        state = session.state
        status = session.wantedStatus
        wasStored = session.mayBeStored
        session.mayBeStored = true
    }
}

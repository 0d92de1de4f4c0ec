import PresenceProtocol

/// One telling of a session, and what was so when it was sent.
struct Telling {
    let session: Session
    let round: Int
    let number: Int
    let state: String
    let status: StatusChange?
    /// Whether it says what the user chose.
    let hasStatus: Bool
    let policy: Int64
    /// Whether Redis might have known the session before.
    let wasStored: Bool

    init(_ session: Session, round: Int, policy: Int64, hasStatus: Bool) {
        session.assertedRound = round
        session.storedState = nil
        session.tellings += 1
        self.session = session
        self.round = round
        self.policy = policy
        self.hasStatus = hasStatus
        number = session.tellings
        state = session.state
        status = session.wantedStatus
        wasStored = session.mayBeStored
        session.mayBeStored = true
    }
}

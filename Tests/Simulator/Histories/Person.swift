import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer

/// One person of a history: their devices, and the run's record for comparison with the shown states.
final class Person {
    let id: UserID
    /// By place; created at the first use.
    var devices: [Int: Visitor] = [:]
    /// Every connection that may still matter.
    var stays: [Stay] = []
    var statuses = Written<ChosenValue>()
    var names = Written<String>()
    /// The last announcement, as long as Redis has not lost it.
    var announced: Announced?

    struct Announced {
        let version: Int64
        let status: Substring
        let rest: Substring
    }

    struct ChosenValue: Equatable {
        var status: ChosenStatus
        var text: String?
        /// By Redis' clock at the sending; after it nothing is chosen.
        var clearAt: Timestamp?
    }

    /// Grows when earlier writes no longer allow conclusions.
    private(set) var era = 0

    func forgetWrites() {
        era += 1
        statuses = .init()
        names = .init()
    }

    init(_ number: Int) { id = UserID("p\(number)")! }

    /// The server that acknowledged that they are invisible, with nothing chosen since, and when by Redis' clock.
    var invisibleOn: SimulatedShard?
    var invisibleSince: Timestamp = 0
    /// No other of their choices can still become effective.
    var isCertainlyInvisible: Bool {
        invisibleOn != nil && statuses.candidates?.allSatisfy { $0.status == .invisible && $0.clearAt == nil } == true
    }
    /// Tokens that were issued before are worthless: a server has acknowledged it.
    var revokedAt: Timestamp = 0
    /// Names requested on connections that were not admitted.
    var forbiddenNames: Set<String> = []
    /// Names requested with revoked tokens.
    var worthlessNames: Set<String> = []

    var connected: [Visitor] { devices.values.filter(\.client.isConnected).sorted { $0.place < $1.place } }
}

/// A person's device: its client, and its intentions.
final class Visitor {
    let person: Person
    let place: Int
    let client: SimulatedClient
    var stay: Stay?
    var activity = Activity.active
    /// Names requested together with its `connect`.
    var rushed: [String] = []
    /// Whether `connected` has arrived on this connection.
    var isLetIn = false
    /// Whether the first answer has arrived on this connection.
    var isGreeted = false
    /// The users that it wants to watch, and those whose subscription was answered.
    var wanted: Set<UserID>
    var watched: Set<UserID> = []
    /// Pending requests.
    var subscribing: [Int64: (users: [UserID], conversation: Bool)] = [:]
    /// It was answered about the conversation on this connection.
    var hearsConversation = false
    var unsubscribing: [Int64: UserID] = [:]
    var writing: [Int64: (Bool) -> Void] = [:]
    var naming: [Int64: Int] = [:]
    /// Versions seen on this connection.
    var presenceVersions: [UserID: Int64] = [:]
    var profileVersions: [UserID: Int64] = [:]

    init(_ person: Person, place: Int, client: SimulatedClient, wanted: Set<UserID>) {
        self.person = person
        self.place = place
        self.client = client
        self.wanted = wanted
    }
}

/// One connection of a person, from its dialling until it can have no further effect.
final class Stay {
    let shard: SimulatedShard
    let device: String?
    let dialledAt: Milliseconds
    /// The time of issue in its token.
    var issuedAt: Timestamp = 0
    /// An administrator ended it, or its token, and was answered that it is done.
    var bannedAt: Milliseconds?
    /// Until this time, without a server to return to, its user must still be seen as online.
    var protectedUntil: Milliseconds = 0
    /// Redis knows of it for certain since.
    var confirmedAt: Milliseconds?
    var lostAt: Milliseconds?
    var vanishedAt: Milliseconds?
    /// It has disconnected cleanly, or its state is uncertain: its user need not be seen as online.
    var mayBeGone = false
    /// When it must no longer be seen; `nil` while it is connected.
    var goneBy: Milliseconds?

    init(on shard: SimulatedShard, device: String?, at time: Milliseconds) {
        self.shard = shard
        self.device = device
        dialledAt = time
    }

    func gone(by time: Milliseconds) { goneBy = max(goneBy ?? 0, time) }
}

/// The values written to something, in their order as far as that is certain.
///
/// A value may be present unless another one was acknowledged that was sent after the first was done.
struct Written<Value: Equatable> {
    struct Write {
        let value: Value
        let sentAt: Milliseconds
        /// When it was acknowledged; `nil` while that is unknown, and permanently if the answer was lost.
        var doneAt: Milliseconds?
        var wasRefused = false
    }

    private(set) var writes: [Write] = []

    mutating func begin(_ value: Value, at time: Milliseconds) -> Int {
        writes.append(Write(value: value, sentAt: time))
        return writes.count - 1
    }

    mutating func acknowledge(_ number: Int, at time: Milliseconds) { writes[number].doneAt = time }
    func isLast(_ number: Int) -> Bool { number == writes.count - 1 }
    mutating func refuse(_ number: Int) { writes[number].wasRefused = true }

    /// The values that may be present now; unknown before the first acknowledgement.
    var candidates: [Value]? {
        let stored = writes.filter { $0.doneAt != nil }
        guard !stored.isEmpty else { return nil }
        return writes.filter { write in
            !write.wasRefused
                && !stored.contains { later in write.doneAt.map { later.sentAt > $0 } ?? false }
        }.map(\.value)
    }
}

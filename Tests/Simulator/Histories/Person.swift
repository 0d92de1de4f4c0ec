import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer

/// One person of a history: their devices, and what the run remembers of them to hold it against what is seen.
final class Person {
    let id: UserID
    /// By place; made when first used.
    var devices: [Int: Visitor] = [:]
    /// Every connection that may still matter.
    var stays: [Stay] = []
    var statuses = Written<ChosenValue>()
    var names = Written<String>()
    /// What was last announced, as long as Redis has not lost it.
    var announced: Announced?

    struct Announced {
        let version: Int64
        let status: Substring
        let rest: Substring
    }

    struct ChosenValue: Equatable {
        var status: ChosenStatus
        var text: String?
        /// By Redis' clock at the sending; it goes back to nothing chosen then.
        var clearAt: Timestamp?
    }

    /// Grows when what was written before says nothing any more.
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
    /// Nothing else that they chose may still come to hold.
    var isCertainlyInvisible: Bool {
        invisibleOn != nil && statuses.candidates?.allSatisfy { $0.status == .invisible && $0.clearAt == nil } == true
    }
    /// Tokens that were issued before are worthless: a server has acknowledged it.
    var revokedAt: Timestamp = 0
    /// Names that were asked for on connections that were not let in.
    var forbiddenNames: Set<String> = []
    /// Names that were asked for by tokens that had been taken back.
    var worthlessNames: Set<String> = []

    var connected: [Visitor] { devices.values.filter(\.client.isConnected).sorted { $0.place < $1.place } }
}

/// A person's device: its client, and what it wants.
final class Visitor {
    let person: Person
    let place: Int
    let client: SimulatedClient
    var stay: Stay?
    var activity = Activity.active
    /// Names that it asked for together with its `connect`.
    var rushed: [String] = []
    /// `connected` has come on this connection.
    var isLetIn = false
    /// The first answer has come on this connection.
    var isGreeted = false
    /// Whom it wants to watch, whom it was answered for.
    var wanted: Set<UserID>
    var watched: Set<UserID> = []
    /// Requests whose answers are still to come.
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

/// One connection of a person, from its dialling until it can have no consequences any more.
final class Stay {
    let shard: SimulatedShard
    let device: String?
    let dialledAt: Milliseconds
    /// When its token says that it was issued.
    var issuedAt: Timestamp = 0
    /// An administrator ended it, or its token, and was answered that it is done.
    var bannedAt: Milliseconds?
    /// No server was there for its client to come back to; until then it is to be seen all the same.
    var protectedUntil: Milliseconds = 0
    /// Redis knows of it for certain since.
    var confirmedAt: Milliseconds?
    var lostAt: Milliseconds?
    var vanishedAt: Milliseconds?
    /// It has said goodbye, or something about it is not certain: nobody need see it.
    var mayBeGone = false
    /// By when it must not be seen any more; `nil` while it is there.
    var goneBy: Milliseconds?

    init(on shard: SimulatedShard, device: String?, at time: Milliseconds) {
        self.shard = shard
        self.device = device
        dialledAt = time
    }

    func gone(by time: Milliseconds) { goneBy = max(goneBy ?? 0, time) }
}

/// What was written to something, in which order as far as that is certain.
///
/// A value may be there unless another was acknowledged that was sent after the first was done.
struct Written<Value: Equatable> {
    struct Write {
        let value: Value
        let sentAt: Milliseconds
        /// When it was acknowledged; `nil` while that is not known, and for good if the answer was lost.
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

    /// What may be there now; nothing can be said before anything was acknowledged.
    var candidates: [Value]? {
        let stored = writes.filter { $0.doneAt != nil }
        guard !stored.isEmpty else { return nil }
        return writes.filter { write in
            !write.wasRefused
                && !stored.contains { later in write.doneAt.map { later.sentAt > $0 } ?? false }
        }.map(\.value)
    }
}

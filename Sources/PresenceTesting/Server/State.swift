import Foundation
import PresenceProtocol

extension InMemoryServer {
    /// A JSON object. Members that are `null` are absent.
    typealias Object = [String: any Sendable]

    /// The server's data, connections and script.
    struct State {
        // The data.
        var users: [UserID: UserRecord] = [:]
        var talks: [String: Talk] = [:]
        /// By the creator and their key.
        var creations: [String: String] = [:]
        var notices: [String: Notices] = [:]
        var devices: [String: Object] = [:]
        /// The users who ask each user to be a contact, oldest first, and the version of each list.
        var askings: [String: [Asking]] = [:]
        var askingVersions: [String: Int64] = [:]
        /// The pairs of users, the asker first, who have asked: the same again is not shown.
        var askedPairs: Set<String> = []
        var reports: [Object] = []
        var notificationSettings: [String: Object] = [:]
        /// The kinds of notifications: `kind` and `name`.
        var kinds: [Object] = []
        var hasDirectory = false
        var uploads: [Data] = []
        var accounts: [String: Registration] = [:]
        var grants: [Int: Grant] = [:]
        var lastGrant = 0
        var mails: [Mail] = []
        /// The newest code by mail of each address.
        var codes: [String: String] = [:]
        /// The users that sign-ups made, by the id of the request.
        var signUps: [String: String] = [:]
        /// Sessions whose connection was lost.
        var lingering: [Lingering] = []
        var lastVersion: Int64 = 1
        /// The clock's time in milliseconds, by which sessions, typing and statuses end.
        var time = InMemoryServer.beginning
        /// The time of the newest change. No two changes have the same.
        var now = InMemoryServer.beginning

        // The connections.
        var peers: [Int: Peer] = [:]
        var lastPeer = 0
        /// Messages that are sent once the lock is released.
        var outbox: [Saying] = []
        var isSaying = false

        // The script.
        var asked: [Object] = []
        /// The errors for the next requests, by type.
        var refusals: [String: [Object]] = [:]
        /// At the next request of a type, breaks the connection before or after handling it, or does not answer.
        var cuts: [String: Cut] = [:]
        var isThere = true
        var isStale = false
        var partLimit = 50
        var delay: Duration?
        var isHolding = false
        var hidesExisting = false
        /// Requests that wait for their time.
        var waiting: [Waiting] = []
        var held: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastHeld = 0

        mutating func nextVersion() -> Int64 {
            lastVersion += 1
            return lastVersion
        }

        mutating func tick() -> Timestamp {
            now += 1
            return now
        }
    }

    enum Cut { case before, after, silence }

    /// A request that is processed later.
    struct Waiting {
        var peer: Int
        var bytes: [UInt8]
        var asked: Object
        /// By the clock; `nil` without a delay.
        var due: TestClock.Instant?
    }

    struct Lingering {
        var user: UserID
        var device: Device?
        var until: Timestamp
    }

    /// One connection, from the server's side.
    struct Peer {
        let say: @Sendable ([UInt8]) -> Void
        let cut: @Sendable () -> Void
        /// The user of a token that names none.
        var user = "ana"
        var isConnected = false
        /// The session of an account.
        var grant: Int?
        var device: Device?
        var activity = Activity.active

        // The client has received these.
        var isStale = false
        var ownStatus: OwnStatus?
        var ownVisibility = OwnVisibility()
        var ownAccount: Int64?
        /// The version of the contact requests. An empty list is not sent after `connected`.
        var askings: Int64 = 0
        /// The versions of the watched users' registers.
        var watched: [UserID: ClientMessage.KnownVersions] = [:]
        /// The version of typing in each observed conversation.
        var typing: [String: Int64] = [:]
        /// The version of the messages of each followed conversation.
        var follows: [String: Int] = [:]
        /// The versions of the listed conversations; `nil` without a list.
        var list: [String: Int]?
        /// The number of notification events; `nil` without a subscription.
        var noticed: Int?
    }

    /// A message for a client, or the end of its connection.
    struct Saying {
        var peer: Peer
        var bytes: [UInt8]?
    }
}

import PresenceCore

/// One kind of error, and everything affected by it.
public struct DoctorFinding: Sendable, Equatable {
    public let kind: Kind
    public let count: Int
    /// The keys, incarnations or channels affected; at most `DoctorReport.examples` of them.
    public let subjects: [String]

    public enum Kind: String, Sendable, CaseIterable {
        // Leases and incarnations.
        case malformedLease, malformedSweep, overdueLease, nobodySweeps, deadIncarnation, missingWriter
        // Sessions and the presence of users.
        case ghost, ghostSession, malformedSession, unlistedSession, listedWithoutSession, wrongPresence, overdueStatus
        // Keys and values.
        case malformedValue, malformedVisibility, wrongType, unusableKey, unreachableRecord, unreachableKey
        case malformedTyping, everlastingTyping
        // Conversations.
        case malformedConversation, lostMessages, brokenIndex, unlistedConversation, lostConversation
        // Changes over several partitions.
        case unnamedClaim, lostClaim, contestedClaim, unlistedIntent
        case unheldAddress, lostAddress, contestedAddress, unlistedAddressChange
        case unheldIdentity, lostIdentity, contestedIdentity, unlistedIdentityChange
        // Versions and times.
        case versionAhead, timeAhead
        // Redis as a whole.
        case unheardPartition, noFormat, wrongFormat, evictsKeys, memoryFull, cannotPersist
    }
}

extension DoctorFinding.Kind {
    /// Whether `--repair` clears it.
    public var isRepairable: Bool { repair != nil }

    /// The meaning of this kind.
    public var explanation: String {
        switch self {
        case .malformedLease: "leases that cannot be read: every sweep fails, so dead servers are not reaped"
        case .malformedSweep: "the time of the last sweep cannot be read: every sweep fails"
        case .overdueLease: "expired leases whose sessions no server ends"
        case .nobodySweeps: "servers renew their leases, but none looks for expired ones"
        case .deadIncarnation: "incarnations without a lease that may still write, or are listed with users"
        case .missingWriter: "live incarnations that may not write in a partition"
        case .ghost: "sessions of incarnations without a lease: their users may stay online forever"
        case .ghostSession: "sessions that their server does not have: their users stay online"
        case .malformedSession: "sessions that cannot be read: every change of their user fails"
        case .unlistedSession: "sessions that no server would end if their own died"
        case .listedWithoutSession: "users listed with an incarnation that has no session of theirs"
        case .wrongPresence: "users whose shown presence does not match their sessions and chosen status"
        case .overdueStatus: "chosen statuses that should have ended"
        case .malformedValue: "values that no server writes"
        case .malformedVisibility: "users whose visibility cannot be read: they are shown to no one"
        case .wrongType: "keys of an unexpected Redis type, in the place of data"
        case .unusableKey: "sessions, typing, lists and floors of an unexpected Redis type"
        case .unreachableRecord: "users and conversations in a partition where no server looks for them"
        case .unreachableKey: "sessions, typing and lists in a partition where no server looks for them"
        case .malformedTyping: "typing records that cannot be read"
        case .everlastingTyping: "typing records that never expire"
        case .malformedConversation: "conversations that cannot be read: requests for them fail with internal"
        case .lostMessages: "conversations with missing or extra messages: reads and new messages fail"
        case .brokenIndex: "conversations whose messages cannot be found by their ids, or whose changes are lost"
        case .unlistedConversation: "conversations that the inbox of a member lacks"
        case .lostConversation: "conversations in the inbox of a user who is not in them, or that do not exist"
        case .unnamedClaim: "taken unique names that no owner's record names"
        case .lostClaim: "unique names that are in their owner's record, but not taken: another could take them"
        case .contestedClaim: "unique names that are in one owner's record, and taken by another"
        case .unlistedIntent: "half-done changes of a unique name that no server continues"
        case .unheldAddress: "e-mail addresses claimed for accounts that neither have nor want them: they are free"
        case .lostAddress: "accounts whose e-mail address is not claimed for them: another could take it"
        case .contestedAddress: "accounts whose e-mail address is another account's: its owner cannot sign in by it"
        case .unlistedAddressChange: "half-done changes of an e-mail address that no server continues"
        case .unheldIdentity:
            "providers' identities claimed for accounts that neither have nor want them: they are free"
        case .lostIdentity: "accounts with an identity that is not claimed for them: its owner cannot sign in by it"
        case .contestedIdentity: "accounts with an identity that is another account's: its owner signs in to that one"
        case .unlistedIdentityChange: "half-done changes of an account's identities that no server continues"
        case .versionAhead: "versions far ahead of Redis' time: the clock went back, or the data come from elsewhere"
        case .timeAhead: "times far ahead of Redis' time"
        case .unheardPartition: "partitions whose events some running server does not receive"
        case .noFormat:
            "no layout is stored: no server has used this database of this Redis with this redis.prefix, "
                + "or it lost its data"
        case .wrongFormat: "this version does not know the layout"
        case .evictsKeys: "Redis evicts keys when it is full: maxmemory-policy must be noeviction"
        case .memoryFull: "Redis' memory is full: it refuses changes, users can only leave"
        case .cannotPersist: "Redis cannot write its data to the disk: see its log"
        }
    }

    /// The repair that `--repair` makes; `nil` if there is none, because a change could do harm or the data is not at fault.
    public var repair: String? {
        switch self {
        case .malformedLease, .overdueLease, .deadIncarnation, .ghost:
            "ends their sessions as a server would, last seen at the last known renewal"
        case .malformedSweep: "sets it to now"
        case .missingWriter: "lets them write again, if their lease is still live"
        case .ghostSession: "ends them as that server would, last seen when they began"
        case .malformedVisibility:
            "keeps the readable settings; the others hide their user until the user sets them again"
        case .unusableKey: "removes them, and recomputes their users' presence; a floor restarts at the present time"
        case .malformedSession: "removes them, and recomputes their users' presence"
        case .unlistedSession: "lists their users with their incarnation"
        case .listedWithoutSession: "takes them off the list"
        case .wrongPresence: "corrects it, in a new version for watchers"
        case .overdueStatus: "ends them, as the server would have"
        case .unreachableKey: "removes them"
        case .malformedTyping: "removes it: it would have ended within seconds"
        case .everlastingTyping: "lets it expire in an hour, as the servers do"
        case .unnamedClaim, .unlistedIntent, .unlistedAddressChange, .unlistedIdentityChange:
            "leaves them to the servers' next sweep"
        case .unheldAddress, .unheldIdentity: "removes them"
        case .brokenIndex: "rebuilds both from the messages; clients that follow them start again"
        case .unlistedConversation: "enters them"
        case .lostConversation: "enters them as left"
        case .lostClaim: "takes them for the owner, unless another has done so"
        case .lostAddress, .lostIdentity: "claims it for the account, unless another has done so"
        case .malformedConversation, .lostMessages, .nobodySweeps, .malformedValue, .wrongType, .unreachableRecord,
            .versionAhead, .timeAhead,
            .contestedClaim, .contestedAddress, .contestedIdentity, .unheardPartition, .noFormat, .wrongFormat,
            .evictsKeys, .memoryFull,
            .cannotPersist:
            nil
        }
    }
}

import PresenceCore

/// One kind of thing that is wrong, and everything of which it is true.
public struct DoctorFinding: Sendable, Equatable {
    public let kind: Kind
    public let count: Int
    /// What it is true of: keys, incarnations, channels. At most `DoctorReport.examples` of them.
    public let subjects: [String]

    public enum Kind: String, Sendable, CaseIterable {
        // Leases and incarnations.
        case malformedLease, malformedSweep, overdueLease, nobodySweeps, deadIncarnation, missingWriter
        // Sessions and what is shown of people.
        case ghost, ghostSession, malformedSession, unlistedSession, listedWithoutSession, wrongPresence, overdueStatus
        // Keys and values.
        case malformedValue, malformedVisibility, wrongType, unusableKey, unreachableRecord, unreachableKey
        case malformedTyping, everlastingTyping
        // Conversations.
        case malformedConversation, lostMessages, brokenIndex, unlistedConversation, lostConversation
        // Changes over several partitions.
        case unnamedClaim, lostClaim, contestedClaim, unlistedIntent
        case unheldAddress, lostAddress, contestedAddress, unlistedAddressChange
        // Versions and times.
        case versionAhead, timeAhead
        // Redis as a whole.
        case unheardPartition, noFormat, wrongFormat, evictsKeys, memoryFull, cannotPersist
    }
}

extension DoctorFinding.Kind {
    /// Whether `--repair` clears it.
    public var isRepairable: Bool { repair != nil }

    /// What it means.
    public var explanation: String {
        switch self {
        case .malformedLease: "leases that cannot be read: every sweep fails, so nobody dead is reaped"
        case .malformedSweep: "the time of the last sweep cannot be read: every sweep fails"
        case .overdueLease: "leases that ran out and whose sessions nobody ends"
        case .nobodySweeps: "servers renew their leases, but none looks for those that ran out"
        case .deadIncarnation: "incarnations without a lease that may still write, or are listed with users"
        case .missingWriter: "live incarnations that may not write in a partition"
        case .ghost: "sessions of incarnations without a lease: their users may be shown as here for ever"
        case .ghostSession: "sessions that the server which should hold them does not: their users are shown as here"
        case .malformedSession: "sessions that cannot be read: every change of their user fails"
        case .unlistedSession: "sessions that nobody would end if their server died"
        case .listedWithoutSession: "users listed with an incarnation that has no session of theirs"
        case .wrongPresence: "people shown otherwise than their sessions and their chosen status make them"
        case .overdueStatus: "chosen statuses that should have ended"
        case .malformedValue: "values that no server writes"
        case .malformedVisibility: "users whose visibility cannot be read: nobody sees them"
        case .wrongType: "keys that hold another type than servers expect, in the place of data"
        case .unusableKey: "sessions, typing, lists and floors that hold another type than servers expect"
        case .unreachableRecord: "users and conversations in a partition in which no server looks for them"
        case .unreachableKey: "sessions, typing and lists in a partition in which no server looks for them"
        case .malformedTyping: "typing that cannot be read"
        case .everlastingTyping: "typing that never expires"
        case .malformedConversation: "conversations that cannot be read: who asks for one is answered internal"
        case .lostMessages: "conversations whose messages are not all there: they are not read, and nobody writes more"
        case .brokenIndex: "conversations whose messages are not found by their ids, or whose changes are forgotten"
        case .unlistedConversation: "conversations that the inbox of a member lacks"
        case .lostConversation: "conversations in the inbox of a user who is not in them, or that are not there"
        case .unnamedClaim: "unique names that are taken, but by no owner whose record names them"
        case .lostClaim: "unique names that are in their owner's record, but not taken: another could take them"
        case .contestedClaim: "unique names that are in one owner's record, and taken by another"
        case .unlistedIntent: "changes of a unique name that are half done, and that no server goes on with"
        case .unheldAddress: "e-mail addresses claimed for accounts that neither hold nor want them: they are free"
        case .lostAddress: "accounts whose e-mail address is not claimed for them: another could take it"
        case .contestedAddress: "accounts whose e-mail address is another account's: its owner cannot sign in by it"
        case .unlistedAddressChange: "changes of an e-mail address that are half done, and that no server goes on with"
        case .versionAhead: "versions far ahead of Redis' time: the clock went back, or the data come from elsewhere"
        case .timeAhead: "times far ahead of Redis' time"
        case .unheardPartition: "partitions whose events not every running server hears"
        case .noFormat:
            "no layout is written down: no server has used this database of this Redis with this redis.prefix, "
                + "or it lost its data"
        case .wrongFormat: "the layout is none that this version knows"
        case .evictsKeys: "Redis throws keys away when it is full: maxmemory-policy must be noeviction"
        case .memoryFull: "memory is full: changes are refused, people can only leave"
        case .cannotPersist: "Redis cannot write its data to the disk: see its log"
        }
    }

    /// What `--repair` does about it; `nil`: nothing, since it could do harm or is not the data's fault.
    public var repair: String? {
        switch self {
        case .malformedLease, .overdueLease, .deadIncarnation, .ghost:
            "ends their sessions as a server would, last seen at the last renewal that is known"
        case .malformedSweep: "sets it to now"
        case .missingWriter: "lets them write again, if their lease is still live"
        case .ghostSession: "ends them as that server would, last seen when they began"
        case .malformedVisibility:
            "writes what can be read of it; what cannot lets nobody see, until its user sets it again"
        case .unusableKey: "removes them, and shows their users as the rest makes them; a floor begins anew at now"
        case .malformedSession: "removes them, and shows their users as the rest makes them"
        case .unlistedSession: "lists their users with their incarnation"
        case .listedWithoutSession: "takes them off the list"
        case .wrongPresence: "shows them rightly, with a new version that everybody is told"
        case .overdueStatus: "ends them, as the server would have"
        case .unreachableKey: "removes them"
        case .malformedTyping: "removes it: it would have ended within seconds"
        case .everlastingTyping: "lets it expire in an hour, as the servers do"
        case .unnamedClaim, .unlistedIntent, .unlistedAddressChange: "hands them to the servers' next sweep"
        case .unheldAddress: "removes them"
        case .brokenIndex: "makes both anew from the messages; who follows begins anew"
        case .unlistedConversation: "enters them, as when the user joined"
        case .lostConversation: "enters them as left"
        case .lostClaim: "takes them for the owner, unless another has done so"
        case .lostAddress: "claims it for the account, unless another has done so"
        case .malformedConversation, .lostMessages, .nobodySweeps, .malformedValue, .wrongType, .unreachableRecord,
            .versionAhead, .timeAhead,
            .contestedClaim, .contestedAddress, .unheardPartition, .noFormat, .wrongFormat, .evictsKeys, .memoryFull,
            .cannotPersist:
            nil
        }
    }
}

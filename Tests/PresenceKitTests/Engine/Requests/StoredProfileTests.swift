import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Changes of the user's own profile in the storage, over the end of a process.
@Suite struct StoredProfileTests {
    private var bench = Bench()
    private static let name = ProfileChanges(displayName: .set("Ana"))
    private static let stored = Profile(version: 3, displayName: "Ana")

    private func profile(_ call: CallID) -> ProfileUpdate<PersonProfile>? {
        if case .success(.profile(let update)) = bench.answer(to: call) { update } else { nil }
    }

    @Test mutating func `a change is stored before it is promised`() {
        bench.connect()
        bench.end(.lost(""))
        bench.storageAnswers = false
        let call = bench.call(.updateProfile(Self.name, .queue))
        expect(bench.answer(to: call) == nil)
        bench.store()
        expect(profile(call), equals: .queued)
        expect(bench.writes.map(\.profileChanges?.changes), equals: [Self.name])
        bench.storageFault = PresenceError(.storageFailed, "no space")
        bench.storageAnswers = true
        let second = bench.call(.updateProfile(ProfileChanges(locale: .set("de")), .queue))
        expect(bench.error(of: second)?.code, equals: .storageFailed)
    }

    @Test mutating func `a change is done once it is removed from the storage`() {
        let loop = bench.open(.keptProfile)
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.comeBack()
        bench.storageAnswers = false
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.engine.nextKeptProfile(loop)?.waiting?.wire, equals: Self.name)
        bench.store()
        expect(bench.writes.isEmpty)
        expect(bench.engine.nextKeptProfile(loop), equals: PresenceKit.ProfileChanges.Pending())
    }

    @Test mutating func `a queued change does not overwrite a later saved one`() {
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("Old"), locale: .set("de")), .queue))
        bench.comeBack()
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 60_000))
        let newer = bench.call(.updateProfile(ProfileChanges(displayName: .set("New")), .fail))
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(profile(newer) != nil)
        expect(bench.writes.map(\.profileChanges?.changes), equals: [ProfileChanges(locale: .set("de"))])
    }

    @Test mutating func `while the storage has a completed change, a later one is stored too`() {
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.comeBack()
        bench.storageAnswers = false
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        // A process that died now would send the name again and overwrite the later one, if the server already had
        // that.
        let (directives, later) = (bench.directives, ProfileChanges(displayName: .set("Later")))
        let call = bench.call(.updateProfile(later, .queue))
        expect(bench.answer(to: call) == nil && bench.bodies == [])
        bench.store()
        expect(bench.bodies, equals: [.updateProfile(later)])
        expect(profile(call) == .queued && bench.writes.map(\.profileChanges?.changes) == [Self.name, later])
        bench.do(directives)
        expect(bench.writes.map(\.profileChanges?.changes), equals: [later])
    }

    @Test mutating func `a change is saved once the storage has no older one`() {
        for isKeptAnswered in [true, false] {
            bench = Bench()
            bench.connect()
            bench.end(.lost(""))
            _ = bench.call(.updateProfile(Self.name, .queue))
            bench.comeBack()
            bench.storageAnswers = false
            var pending: [Directive] = []
            if isKeptAnswered {
                bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
            } else {
                bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 60_000))
            }
            pending += bench.directives
            let later = bench.call(.updateProfile(ProfileChanges(displayName: .set("Later")), .fail))
            bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
            expect(bench.answer(to: later) == nil)
            bench.do(pending + bench.directives)
            expect(profile(later) != nil && bench.writes.isEmpty)
        }
    }

    // MARK: A storage that fails

    @Test mutating func `a change that cannot be stored does not remove the one before`() {
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.storageFault = PresenceError(.storageFailed, "no space")
        let second = bench.call(.updateProfile(ProfileChanges(locale: .set("de")), .queue))
        expect(bench.error(of: second)?.code, equals: .storageFailed)
        expect(bench.error(of: second)?.outcomeUnknown, equals: false)
        expect(bench.writes.map(\.profileChanges?.changes), equals: [Self.name])
        bench.storageFault = nil
        bench.comeBack()
        expect(bench.bodies, equals: [.updateProfile(Self.name)])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.writes.isEmpty)
    }

    @Test mutating func `a change that could not be stored is not sent`() {
        bench.connect()
        bench.end(.lost(""))
        bench.storageAnswers = false
        let call = bench.call(.updateProfile(Self.name, .queue))
        let directives = bench.directives
        bench.comeBack()
        expect(bench.bodies, equals: [])
        bench.storageFault = PresenceError(.storageFailed, "no space")
        bench.do(directives)
        expect(bench.error(of: call)?.code == .storageFailed && bench.error(of: call)?.outcomeUnknown == false)
        expect(bench.bodies, equals: [])
    }

    @Test mutating func `the rest of a superseded change stays in the storage until it is stored again`() {
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(ProfileChanges(displayName: .set("Old"), locale: .set("de")), .queue))
        bench.comeBack()
        bench.receive(.refusal(bench.lastID, .unavailable, retryAfter: 1_000))
        let newer = bench.call(.updateProfile(ProfileChanges(displayName: .set("New")), .fail))
        bench.storageFault = PresenceError(.storageFailed, "no space")
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.writes.count == 1 && bench.answer(to: newer) == nil, "a later process would send the old name")
        bench.storageFault = nil
        bench.pass(.seconds(1))
        expect(bench.bodies, equals: [.updateProfile(ProfileChanges(locale: .set("de")))])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.writes.isEmpty && profile(newer) != nil)
    }

    @Test mutating func `a write that cannot be removed is retried, and later changes wait behind it`() {
        let loop = bench.open(.keptProfile)
        bench.connect()
        bench.end(.lost(""))
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.comeBack()
        bench.storageFault = PresenceError(.storageFailed, "no space")
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.writes.count == 1 && bench.engine.nextKeptProfile(loop)?.waiting?.wire == Self.name)
        bench.storageFault = nil
        let later = bench.call(.updateProfile(ProfileChanges(displayName: .set("Later")), .queue))
        expect(profile(later), equals: .queued)
        expect(bench.writes.map(\.profileChanges?.changes.displayName), equals: [.set("Later")])
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        expect(bench.writes.isEmpty)
        _ = bench.call(.updateProfile(Self.name, .queue))
        bench.end(.lost(""))
        bench.comeBack()
        bench.storageFault = PresenceError(.storageFailed, "no space")
        bench.receive(.profileUpdated(id: bench.lastID, Self.stored))
        bench.storageFault = nil
        bench.pass(.seconds(5))
        bench.store()
        expect(bench.writes.isEmpty, "nothing else was done in between")
    }
}

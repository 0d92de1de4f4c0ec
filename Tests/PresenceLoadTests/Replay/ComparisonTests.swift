import Expectations
import PresenceProtocol
import Testing

@testable import presence_load

@Suite struct ComparisonTests {
    private let ana = UserID("ana")!
    private let bob = UserID("bob")!

    private func shown(_ presence: Presence, _ name: String? = nil, version: Int64 = 5) -> Shown {
        let profile = name.map { ProfileRegister.profile(Profile(version: version, displayName: $0)) } ?? .none
        var shown = Shown()
        shown.apply(UserSnapshot(user: bob, presence: presence, profile: profile))
        return shown
    }

    private let here = Presence(version: 9, status: .online, since: 1, devices: [.phone])
    private let gone = Presence(version: 9, status: .offline, since: 1, lastSeen: 1)

    private func differences(
        truth: Truth, shown: Shown?, asked: Shown, typing: [UserID] = []
    ) -> [String] {
        Comparison(users: [ana, bob], truths: [Truth(), truth], asked: [nobody, asked]).differences(
            watchers: [(place: 0, watched: [1], shown: shown.map { [1: $0] } ?? [:])],
            typing: [(place: 0, conversation: ConversationID("c1")!, users: typing)])
    }

    private var nobody: Shown { shown(.unknown) }

    @Test func `equal states make no difference`() {
        let truth = Truth(isUnknown: false, device: .phone, displayName: "Bob")
        expect(differences(truth: truth, shown: shown(here, "Bob"), asked: shown(here, "Bob")), equals: [])
        let away = Truth(isUnknown: false, device: nil, displayName: "Bob")
        expect(differences(truth: away, shown: shown(gone, "Bob"), asked: shown(gone, "Bob")), equals: [])
        expect(differences(truth: Truth(), shown: nobody, asked: nobody), equals: [])
    }

    @Test func `a ghost, a wrong name, a wrong device and nothing at all are found`() {
        let truth = Truth(isUnknown: false, device: nil, displayName: "Bob")
        let right = shown(gone, "Bob")
        expect(
            differences(truth: truth, shown: shown(here, "Bob"), asked: right),
            equals: [
                "ana, of bob, shows online (version 9), and offline is true"
            ])
        expect(
            differences(truth: truth, shown: shown(gone, "Rob"), asked: right),
            equals: [
                "ana, of bob, shows the name “Rob”, which is “Bob”"
            ])
        expect(differences(truth: truth, shown: nil, asked: right), equals: ["ana, of bob, shows nothing"])
        let phone = Truth(isUnknown: false, device: .phone, displayName: "Bob")
        let web = Presence(version: 9, status: .online, since: 1, devices: [.web])
        expect(
            differences(truth: phone, shown: shown(web, "Bob"), asked: shown(here, "Bob")),
            equals: [
                "ana, of bob, shows the devices [\"web\"], and phone is true"
            ])
    }

    @Test func `a server that answers wrongly is found even if watchers are right`() {
        let truth = Truth(isUnknown: false, device: .phone, displayName: "Bob")
        let found = differences(truth: truth, shown: shown(here, "Bob"), asked: shown(gone, "Bob"))
        expect(found.first, equals: "get of bob shows offline (version 9), and online is true")
    }

    @Test func `the same content by another version is a difference`() {
        let truth = Truth(isUnknown: false, device: .phone, displayName: "Bob")
        let found = differences(truth: truth, shown: shown(here, "Bob", version: 4), asked: shown(here, "Bob"))
        expect(found, equals: ["ana, of bob, shows presence 9 and profile 4, and get returns presence 9 and profile 5"])
    }

    @Test func `an indicator that never ends is found`() {
        let found = differences(truth: Truth(), shown: nobody, asked: nobody, typing: [bob])
        expect(found, equals: ["ana shows bob typing forever in c1"])
    }
}

@Suite struct ShownTests {
    @Test func `an event replaces an older register, never a newer one, and always with version 0`() {
        var shown = Shown()
        func take(_ presence: Presence) -> Bool { shown.apply(presence) }
        func take(_ profile: ProfileRegister) -> Bool { shown.apply(profile) }
        let newer = Presence(version: 7, status: .online, since: 1, devices: [.web])
        let older = Presence(version: 6, status: .away, since: 1, devices: [.web])
        expect(take(newer))
        expect(!take(older))
        expect(!take(newer))
        expect(shown.presence, equals: newer)
        expect(take(Presence.unknown))
        expect(shown.presence, equals: .unknown)
        expect(take(ProfileRegister.profile(Profile(version: 3))))
        expect(!take(ProfileRegister.profile(Profile(version: 2))))
        expect(take(ProfileRegister.none))
    }

    @Test func `a register that an answer leaves out stays, and one that it has replaces even a newer one`() {
        var shown = Shown()
        expect(shown.known, equals: nil)
        _ = shown.apply(Presence(version: 7, status: .online, since: 1))
        _ = shown.apply(.profile(Profile(version: 3)))
        let older = Presence(version: 5, status: .away, since: 1)
        shown.apply(UserSnapshot(user: UserID("bob")!, presence: older, profile: nil))
        expect(shown.presence, equals: older)
        expect(shown.known, equals: ClientMessage.KnownVersions(presence: 5, profile: 3))
    }
}

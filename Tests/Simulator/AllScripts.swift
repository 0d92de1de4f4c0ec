@testable import PresenceCore
@testable import PresenceServer

extension Script {
    /// Those of a server with every feature of its own, in an order that stays: kept histories name them by their place. New
    /// ones are added at the end, and another stands in the place of one that has gone.
    static let allCases: [Script] = {
        let scripts: [Script] =
            [
                .open, .assert, .end, .activity, .status, .lapse, .profile, .renumber, .disconnect, .revoke, .create,
                .typing,
                .conversation, .participants, .visibility, .visibility, .join, .renew, .sweep, .fence, .reap,
            ] + Script.accounts + Usernames.plan.scripts + [.setPhoto]
            + Script.conversations.filter { ![.create, .participants].contains($0) }
            + Script.messageScripts.filter { !Script.aging.contains($0) }
            + Script.webhooks + [.history] + Script.notificationScripts + Script.push + Script.aging
            + Script.attachments
        precondition(Set(scripts) == Set(Script.all(of: Features.all)), "a script is missing here")
        return scripts
    }()

    /// Those that drawn histories of presence run.
    static let played: [Script] = [
        .open, .assert, .end, .activity, .status, .lapse, .profile, .renumber, .disconnect, .revoke, .typing,
        .conversation, .join, .renew, .sweep, .fence, .reap,
    ]
}

@testable import PresenceCore
@testable import PresenceServer

extension Script {
    /// The scripts of a server with all its own features, in a fixed order: stored histories identify scripts by their
    /// position. New scripts are added at the end, and a removed one is replaced by another.
    static let allCases: [Script] = {
        var scripts: [Script] = [
            .open, .assert, .end, .activity, .status, .lapse, .profile, .renumber, .disconnect, .revoke, .create,
            .typing,
            .conversation, .participants, .visibility, .visibility, .join, .renew, .sweep, .fence, .reap,
        ]
        scripts += Script.accounts.filter { $0 != .endConsent }
        scripts += Usernames.plan.scripts.filter { $0 != .peopleStarting } + [.setPhoto]
        scripts += Script.conversations.filter { ![.create, .participants, .answerRequest].contains($0) }
        scripts += Script.messageScripts.filter { !(Script.aging + [.eraseMessages]).contains($0) }
        scripts += Script.delivery + [.history] + Script.notificationScripts
        scripts += Script.push.filter { !Script.holding.contains($0) } + [.pushForget, .pushForget]
        scripts += Script.aging + Script.attachments + Banning.plan.scripts + AbuseReports.plan.scripts
        scripts += [.peopleStarting, .eraseMessages] + BackendKeys.plan.scripts + [.endConsent]
        scripts += ContactRequests.plan.scripts + [.answerRequest] + Script.holding + [.setNotificationSettings]
        precondition(Set(scripts) == Set(Script.all(of: Features.all)), "a script is missing here")
        return scripts
    }()

    /// The scripts that drawn histories of presence run.
    static let played: [Script] = [
        .open, .assert, .end, .activity, .status, .lapse, .profile, .renumber, .disconnect, .revoke, .typing,
        .conversation, .join, .renew, .sweep, .fence, .reap,
    ]
}

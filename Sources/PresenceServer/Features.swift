import Installation
import PresenceCore

/// The features of a server: one line each. Events, deadlines and steps reach them in this order.
package enum Features {
    package static let all: [any Feature.Type] = [
        SessionRequests.self,
        PresenceRequests.self,
        Profiles.self,
        Watching.self,
        Conversations.self,
        Typing.self,
        Messages.self,
        Moderation.self,
        EventDelivery.self,
        Notifications.self,
        VisibilityRequests.self,
        BackendKeys.self,
        ContactRequests.self,
        Banning.self,
        AbuseReports.self,
        Accounts.self,
        Usernames.self,
        Photos.self,
        Attachments.self,
        History.self,
        PersonalData.self,
        App.self,
        Webhooks.self,
        Push.self,
        NotificationSettingsRequests.self,
        Console.self,
        Capabilities.self,
    ]
}

extension ServerConfiguration {
    /// All settings: the core's and those that the features add.
    package static let settings = coreSettings + Features.all.flatMap { $0.plan.settings }

    /// Whether files of features may change while the server runs.
    package var hasChangingFiles: Bool {
        !self[Moderation.blockedWords].isEmpty || !self[Accounts.mailTemplates].isEmpty
    }

    /// - Throws: The first invalid value, with the reason.
    public func validate() throws(InvalidConfiguration) { try validate(with: Features.all) }
}

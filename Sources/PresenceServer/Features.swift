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
        EventDelivery.self,
        Notifications.self,
        VisibilityRequests.self,
        Accounts.self,
        Usernames.self,
        Photos.self,
        Attachments.self,
        History.self,
        App.self,
        Webhooks.self,
        Push.self,
        Console.self,
    ]
}

extension ServerConfiguration {
    /// What the features of a server let operators set.
    public static var featureSettings: [FeatureSetting] { Features.all.flatMap { $0.plan.settings } }

    /// - Throws: what is wrong with the first value that cannot be.
    public func validate() throws(InvalidConfiguration) { try validate(with: Features.all) }
}

/// The features of a server: one line each. Events, deadlines and steps reach them in this order.
enum Features {
    static let all: [any Feature.Type] = [
        SessionRequests.self,
        PresenceRequests.self,
        Profiles.self,
        Watching.self,
        Conversations.self,
        Typing.self,
        VisibilityRequests.self,
    ]

    /// Those that a configuration leaves.
    static func enabled(_ configuration: ServerConfiguration, of features: [any Feature.Type] = all)
        -> [any Feature.Type]
    {
        features.filter { !configuration.disabledFeatures.contains($0.plan.name) }
    }
}

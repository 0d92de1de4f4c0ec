import Installation
import PresenceCore
import PresenceProtocol
import WebSockets

/// `GET /v1/server`: what this server has, so that clients need not try. It depends on the configuration alone, except for the
/// key of pushes to browsers.
final class Capabilities: Feature {
    static let plan = FeaturePlan(name: "capabilities", isOptional: false)

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.route("GET", "/v1/server", for: .everyone) { [unowned self] call in call.respond(.json(200, json)) }
    }

    /// The features that a server may lack, in this order.
    private var features: [String] {
        let hasAccounts = shard.configuration[Accounts.enabled]
        let all: [(name: String, isOn: Bool)] = [
            ("accounts", hasAccounts), ("usernames", hasAccounts), ("photos", hasAccounts),
            ("directory", hasAccounts && shard.configuration[Usernames.directory]),
            ("typing", shard.feature(Typing.self) != nil), ("messages", shard.feature(Messages.self) != nil),
            ("attachments", hasAttachments), ("notifications", shard.feature(Notifications.self) != nil),
            ("contactRequests", shard.feature(ContactRequests.self) != nil),
            ("reports", shard.feature(AbuseReports.self) != nil),
            ("history", shard.feature(History.self) != nil && shard.configuration[History.enabled]),
            ("app", shard.feature(App.self) != nil && shard.configuration[App.enabled]),
        ]
        return all.filter(\.isOn).map(\.name)
    }

    private var hasAttachments: Bool {
        shard.feature(Attachments.self) != nil && shard.configuration[Attachments.enabled]
    }

    private var json: [UInt8] {
        let configuration = shard.configuration
        var json = Array(#"{"version":"#.utf8)
        JSONWriter.string(ServerVersion.current, to: &json)
        JSONWriter.key("features", to: &json)
        Self.list(features, to: &json)
        json += Array(#","signIn":{"password":\#(configuration[Accounts.enabled])"#.utf8)
        if configuration[Accounts.enabled] {
            json += Array(#","mailCode":true,"mailCodeSignUp":\#(configuration[Accounts.mailCodeSignUp])"#.utf8)
            json += Array(#","guests":\#(configuration[Accounts.guests])"#.utf8)
            let providers = (shard.feature(Accounts.self)?.providers ?? []).map(\.json).joined(separator: ",")
            if !providers.isEmpty { json += Array(#","providers":[\#(providers)]"#.utf8) }
        }
        json += Array(#"},"push":{"platforms":"#.utf8)
        let platforms = [("fcm", Push.fcmFile), ("apns", Push.apnsFile), ("web", Push.webSubject)]
        Self.list(platforms.filter { !configuration[$0.1].isEmpty }.map(\.0), to: &json)
        if let key = shard.feature(Push.self)?.vapidKey { JSONWriter.member("vapidKey", key, to: &json) }
        JSONWriter.raw("}", to: &json)
        if let settings = shard.feature(NotificationSettingsRequests.self) {
            JSONWriter.key("notificationSettings", to: &json)
            json += settings.announced
        }
        json += Array(#","limits":{"#.utf8)
        ServerMessageWriter.limitMembers(shard.connectionLimits, to: &json)
        if hasAttachments {
            JSONWriter.member("attachmentBytes", Int64(configuration[Attachments.maxBytes]), to: &json)
        }
        return json + Array("}}".utf8)
    }

    private static func list(_ words: [String], to json: inout [UInt8]) {
        json += Array("[\(words.map { JSONWriter.encoded($0) }.joined(separator: ","))]".utf8)
    }
}

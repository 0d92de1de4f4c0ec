import PresenceCore
import PresenceProtocol

/// The settings of pushes. config/presenced.yaml has each with its sentence.
extension Push {
    static let queue = Setting<Int>(
        "push.queue", 100_000, in: 100...1_000_000,
        about: "How many pushes may wait for each service, with at most 1 KiB of Redis' memory for each "
            + "of them on average. Beyond it, those of the device with most are dropped, then those whose next attempt is "
            + "furthest away.")
    static let caFile = Setting<String>(
        "push.caFile", "",
        about: "The authorities that sign the certificates of push services (PEM), for networks with a proxy that "
            + "inspects TLS; empty: the system's.")
    static let fcmFile = Setting<String>(
        "push.fcm.serviceAccountFile", "",
        about: "The key of a service account of your Firebase project (JSON), not readable by others; empty: no FCM.")
    static let fcmURL = Setting<String>("push.fcm.url", "https://fcm.googleapis.com", about: "The address of FCM.")
    static let apnsFile = Setting<String>(
        "push.apns.keyFile", "",
        about: "A key for APNs of your Apple team (.p8), not readable by others; empty: no APNs.")
    static let apnsKeyID = Setting<String>("push.apns.keyID", "", about: "The id of that key, of 10 characters.")
    static let apnsTeamID = Setting<String>(
        "push.apns.teamID", "", about: "The id of your Apple team, of 10 characters.")
    static let apnsTopic = Setting<String>("push.apns.topic", "", about: "The app's bundle id.")
    static let apnsURL = Setting<String>(
        "push.apns.url", "https://api.push.apple.com",
        about: "The address of APNs; for apps in development https://api.sandbox.push.apple.com.")

    static let content = Setting<PushContent>(
        "push.content", .full,
        about: "The content of pushes, of push.due too: title and text, the title alone, or ids and counts alone.")

    static let settings: [any AnySetting] =
        [
            queue, content, caFile, fcmFile, fcmURL, apnsFile, apnsKeyID, apnsTeamID, apnsTopic, apnsURL,
        ] + webSettings
}

/// The texts of a push: title and text, the title alone (of a message it names the sender or the conversation), or neither.
enum PushContent: String, CaseIterable, SettingValue { case full, sender, none }

/// The settings of pushes to browsers.
extension Push {
    static let webSubject = Setting<String>(
        "push.web.subject", "",
        about: "Your address for the operators of push services: mailto:… or https://…; empty: no pushes to browsers.")
    static let webHosts = Setting<[String]>(
        "push.web.hosts", [],
        about: "The hosts to which pushes may be sent: names, or *.NAME for all hosts below NAME; empty: every public "
            + "host that browsers name.")
    static let webPrivate = Setting<Bool>(
        "push.web.privateAddresses", false,
        about: "Whether these hosts may have private addresses: for a push server in your own network. Needs "
            + "push.web.hosts.")

    static let webSettings: [any AnySetting] = [webSubject, webHosts, webPrivate]
}

/// The hosts that `push.web.hosts` names.
struct WebHosts: Sendable {
    private let names: [String]

    init(_ configuration: ServerConfiguration) { names = configuration[Push.webHosts].map { $0.lowercased() } }

    /// Whether pushes may be sent to a host, which is in lower case.
    func contain(_ host: String) -> Bool {
        names.isEmpty || names.contains { $0.hasPrefix("*.") ? host.hasSuffix($0.dropFirst()) : host == $0 }
    }

    /// Whether a text can be an entry.
    static func isName(_ text: String) -> Bool {
        let name = text.hasPrefix("*.") ? String(text.dropFirst(2)) : text
        return WebSubscription.Endpoint("https://\(name)")?.host == name.lowercased() && name.first != "."
    }
}

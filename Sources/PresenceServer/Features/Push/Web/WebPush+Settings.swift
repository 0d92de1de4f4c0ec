import PresenceCore

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

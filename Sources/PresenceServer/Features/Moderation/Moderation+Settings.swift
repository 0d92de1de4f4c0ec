import Installation
import PresenceCore
import PresenceProtocol

extension Moderation {
    /// Decides about messages that the hook could not decide about.
    enum OnFailure: String, CaseIterable, SettingValue { case allow, refuse }

    static let url = Setting<String>(
        "hooks.beforeMessage.url", "",
        about: "Your server that is asked about each message and edit before it is stored (https, or http to this "
            + "machine); empty: none.")
    static let secretFile = Setting<String>(
        "hooks.beforeMessage.secretFile", "",
        about: "The file with the secret that signs these calls (whsec_…, not readable by others), as for webhooks.")
    static let timeout = Setting<Milliseconds>(
        "hooks.beforeMessage.timeout", 1_500, in: 50...10_000,
        about: "How long a message waits for your server's answer, and before that at most for a free place.")
    static let onFailure = Setting<OnFailure>(
        "hooks.beforeMessage.onFailure", .allow,
        about: "The decision about messages for which no usable answer came in time: allow or refuse.")
    static let concurrent = Setting<Int>(
        "hooks.concurrent", 32, in: 1...1_000,
        about: "How many calls to your server run at once; four times as many wait. One user has at most a quarter of "
            + "them, on each shard.")
    static let blockedWords = Setting<String>(
        "messages.blockedWords", "",
        about: "A file with words and phrases that refuse a message, one in each line; empty: none. It is read again "
            + "at SIGHUP, and when it has changed (every auth.keyCheck).")

    static let settings: [any AnySetting] = [url, secretFile, timeout, onFailure, concurrent, blockedWords]

    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        if !configuration[url].isEmpty { _ = try MessageHook.secret(configuration) }
        if !configuration[blockedWords].isEmpty { _ = try BlockedWords.read(configuration) }
    }
}

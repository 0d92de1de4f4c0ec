import Observation
import PresenceKit

/// The app's only screen. All values on it come from models.
@MainActor @Observable
public final class MainScreen {
    public let roster: RosterModel
    public let me: MeModel
    public let profile: ProfileModel
    public let connection: ConnectionModel
    /// The typing users of the open conversation.
    public private(set) var typing: TypingModel?

    private let client: PresenceClient
    private let clock: any Clock<Duration>
    private var typingRun: Task<Void, Never>?

    public init(
        _ client: PresenceClient, users: any UserRepository, user: String, friends: [String],
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.client = client
        self.clock = clock
        roster = RosterModel(client, users: friends)
        me = MeModel(client)
        profile = ProfileModel(user: user, users: users, clock: clock)
        connection = ConnectionModel(client)
    }

    /// Observes all models until its task is cancelled, or the user signs out.
    public func run() async {
        async let people: Void = roster.run()
        async let own: Void = me.run()
        async let form: Void = profile.run()
        await connection.run()
        _ = await (people, own, form)
    }

    // MARK: Values

    /// The screen, line by line.
    public var lines: [String] {
        var lines = [header]
        if let banner = connection.banner { lines.append("! \(banner)") }
        if let message = me.errorMessage ?? profile.errorMessage { lines.append("! \(message)") }
        lines += roster.people.map(Self.row)
        if let text = typing?.text, !text.isEmpty { lines.append(text) }
        return lines
    }

    private var header: String {
        let name = me.displayName ?? me.me.user ?? "…"
        let status = me.me.status.map {
            " (\([$0.status.rawValue, $0.text].compactMap(\.self).joined(separator: ": ")))"
        }
        let waiting = me.pending.waiting == nil ? "" : ", to be saved"
        return "\(name)\(status ?? "")\(waiting) — \(roster.online.count) of \(roster.people.count) here"
    }

    private static func row(_ person: Person) -> String {
        let dot = !person.freshness.isLive ? "?" : person.isOnline ? "●" : "○"
        let presence = person.presence
        let what = person.isOnline ? presence.text ?? presence.status.rawValue : "offline"
        return "\(dot) \(person.displayName ?? person.user): \(what)"
    }

    // MARK: Actions

    /// Handles an entered line; returns whether the app continues.
    public func enter(_ line: String) async -> Bool {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        let rest = words.count > 1 ? words[1] : ""
        switch words.first {
        case "quit": return false
        case "status":
            let choice = rest.split(separator: " ", maxSplits: 1).map(String.init)
            guard let status = choice.first.flatMap(ChosenStatus.init) else { break }
            await me.choose(status, text: choice.count > 1 ? choice[1] : "")
        case "name":
            profile.displayName = rest
            await profile.save()
        case "add": if !roster.users.contains(rest) { roster.users.append(rest) }
        case "remove": roster.users.removeAll { $0 == rest }
        default: typing?.textChanged(line)
        }
        return true
    }

    /// Shows the typing users of a conversation.
    public func open(conversation: String) {
        typingRun?.cancel()
        typing?.stop()
        let model = TypingModel(client, conversation: conversation, clock: clock) { [roster] user in
            roster.people.first { $0.user == user }?.displayName ?? user
        }
        typing = model
        typingRun = Task { await model.run() }
    }
}

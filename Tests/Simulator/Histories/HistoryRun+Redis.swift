import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// Reads Redis' state directly, not through the servers.
extension HistoryRun {
    func createConversation() throws {
        let keys = partitions.keys(of: conversation)
        guard people.count <= world.configuration[Conversations.mostParticipants] else { return }
        let members = people.enumerated().flatMap {
            ["m:" + $0.element.id.string, "\($0.offset + 1) 0 0 0 0 0 0 0 e 0"]
        }
        try ask(["HSET", keys.conversation(conversation), "kind", "group"] + members)
    }

    func sessions(of person: Person) throws -> [String] { try strings("HKEYS", keys(person).sessions(person.id)) }

    func chosen(by person: Person) throws -> OwnStatus {
        let fields = try ask(["HMGET", keys(person).user(person.id), "chosen", "text", "clearAt"]).array ?? []
        let chosen = LocalUser.Chosen(
            status: fields[0].string.flatMap(ChosenStatus.init) ?? .auto, text: fields[1].string,
            clearAt: fields[2].int, version: 1)
        return OwnStatus(chosen)
    }

    /// The profile's `displayName`, as it was sent.
    func name(of person: Person) throws -> String? {
        try ask(["HGET", keys(person).user(person.id), "profile"]).bytes.flatMap(ProfileBody.displayName).map {
            String(decoding: $0.dropFirst().dropLast(), as: UTF8.self)
        }
    }

    func register(of person: Person) throws -> (presence: Presence, profile: ProfileRegister) {
        let answer = try ask([
            "HMGET", keys(person).user(person.id), "presenceVersion", "presence", "profileVersion", "profile",
        ])
        var found: (presence: Presence, profile: ProfileRegister) = (.unknown, .none)
        for (kind, version, body) in PersonRead(answer).registers where version > 0 {
            let event = body.withUnsafeBytes {
                RegisterEncoder.event(kind, user: person.id, version: version, body: $0, at: 1)
            }
            // The frame's payload, without its header.
            let start = event.bytes.firstIndex(of: UInt8(ascii: "{"))!
            switch try ServerMessage.decode(Array(event.bytes[start...])) {
            case .presence(_, let presence, _): found.presence = presence
            case .profile(_, let profile, _): found.profile = profile
            default: break
            }
        }
        return found
    }

    func strings(_ words: String...) throws -> [String] { try ask(words).array?.compactMap(\.string) ?? [] }

    @discardableResult
    private func ask(_ words: [String]) throws -> RedisValue { try world.redis.ask(words).get() }

    private var partitions: Partitions { Partitions(count: world.configuration.partitions) }
    private func keys(_ person: Person) -> PartitionKeys { partitions.keys(of: person.id) }
}

import PresenceKit
import TerminalClients

/// The conversation that the command line selects.
enum Place: Hashable, Sendable {
    case list
    case known(String)
    case direct(String)
    case group([String], name: String?)

    init(users: [String], name: String?, conversation: String?, lists: Bool) throws(Failure) {
        for id in users + [conversation].compactMap(\.self) where !PresenceClient.isValidID(id) {
            throw Failure(.usage, "\"\(Label(id).text)\" is not an id: 1 to 128 ASCII characters without space")
        }
        switch (lists, conversation, users.count) {
        case (true, nil, 0) where name == nil: self = .list
        case (false, let id?, 0) where name == nil: self = .known(id)
        case (false, nil, 1) where name == nil: self = .direct(users[0])
        case (false, nil, 1...): self = .group(users, name: name)
        default: throw Failure(.usage, "name users, or one of --conversation and --list; see --help")
        }
    }

    /// The key of a group: the same users and name give the same key, so that its creator finds it again.
    static func key(of users: [String], name: String?) -> String {
        let text = Set(users).sorted().joined(separator: " ") + "\n" + (name ?? "")
        // FNV-1a with 64 bits (Fowler, Noll, Vo).
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return "presence-chat-\(String(hash, radix: 16))"
    }
}

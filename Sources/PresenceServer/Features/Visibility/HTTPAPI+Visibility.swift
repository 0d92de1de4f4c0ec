import PresenceProtocol
import Redis
import WebSockets

/// What backends ask and say about who may see a user.
extension HTTPAPI {
    func readVisibility(of user: UserID, _ exchange: HTTPExchangeID) {
        write(exchange, changes: false) {
            logic.read(visibilityOf: user, done: $0)
        } succeeded: { value in
            guard let read = PolicyRead(value), !read.head.isDamaged else {
                logic.noteDamage("visibility", of: user)
                return .error(500, ShardLogic.damaged())
            }
            let lists = read.lists
            var json = Self.visibility(lists.visibility)
            json += Array(#","contacts":"#.utf8)
            JSONWriter.identifiers(lists.contacts, to: &json)
            json += Array(#","blocks":"#.utf8)
            JSONWriter.identifiers(lists.blocks, to: &json)
            return .json(200, json + [0x7D])
        }
    }

    func setVisibility(_ change: VisibilityChange, of user: UserID, _ exchange: HTTPExchangeID) {
        write(exchange) {
            logic.policies.change(user, change, done: $0)
        } succeeded: { value in
            .json(200, Self.visibility(Self.head(value).visibility) + [0x7D])
        }
    }

    func changeList(
        _ list: PolicyList, of user: UserID, _ exchange: HTTPExchangeID, _ body: [UInt8]
    ) throws(DecodingFailure) {
        let change = try ListChange.decode(json: body, limit: logic.configuration.limits.subscribeBatch)
        write(exchange) {
            logic.policies.change(user, list: list, change, done: $0)
        } succeeded: { value in
            let head = Self.head(value)
            return .json(200, #"{"\#(list.rawValue)":\#(list == .contacts ? head.contacts : head.blocks)}"#)
        }
    }

    /// `OK, version, presence, lastSeen, contacts, blocks`.
    private static func head(_ value: RedisValue) -> PolicyHead {
        let words = value.array?.compactMap(\.string) ?? []
        return PolicyHead(words.dropFirst().joined(separator: " ")) ?? PolicyHead()
    }

    /// The object, still open.
    private static func visibility(_ visibility: Visibility) -> [UInt8] {
        var json = Array(#"{"visibility":"#.utf8)
        visibility.encode(into: &json)
        return json
    }
}

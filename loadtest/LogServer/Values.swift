import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Registers beside the logs of `Entries`, on the same server and set in the same way: only the kind of topic differs.
final class Values: TopicKind {
    private unowned let shard: ShardLogic
    private var kind: TopicKindID!
    private var versions: [Identifier: Int64] = [:]

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        kind = registry.topics(self)
        registry.request(
            "watchValue",
            decode: { (members, _) throws(DecodingFailure) in
                try members.needed(members["value"], "value").checkedIdentifier("value")
            }
        ) { [unowned self] value, context in watch(value, context) }
        registry.request(
            "set",
            decode: { (members, _) throws(DecodingFailure) in
                (
                    value: try members.needed(members["value"], "value").checkedIdentifier("value"),
                    text: try members.needed(members.text, "text").checkedString("text")
                )
            }
        ) { [unowned self] request, context in set(request.value, request.text, context) }
    }

    private func watch(_ value: Identifier, _ context: RequestContext) {
        let topic = shard.watchers.hold(value, kind)
        let reply = shard.replies.expect(on: context.connection)
        shard.loader.load([topic]) { [unowned shard] outcome in
            shard.replies.fulfil(reply, on: context.connection) { [unowned shard] in
                defer { shard.watchers.release(topic) }
                guard !context.connection.isClosed else { return }
                guard outcome == .loaded else {
                    let refusal = ServerMessage.ErrorMessage(
                        id: context.id, code: .unavailable, message: "Redis is out of reach")
                    return shard.replies.error(refusal, to: context.connection)
                }
                shard.watchers.subscribe(context.connection, to: [topic])
                let answer = #"{"type":"valueWatched","id":\#(context.id ?? 0)}"#
                shard.replies.send(Array(answer.utf8), to: context.connection)
            }
        }
    }

    private func set(_ value: Identifier, _ text: String, _ context: RequestContext) {
        let version = versions[value, default: 0] + 1
        versions[value] = version
        if let topic = shard.watchers.topic(value, kind) {
            var json = Array(#"{"type":"value","value":"#.utf8)
            JSONWriter.string(value.string, to: &json)
            json += Array(#","version":\#(version),"text":"#.utf8)
            JSONWriter.string(text, to: &json)
            let frame = WebSocketFrame.text(json + Array("}".utf8))
            shard.watchers.set(Register(version: version, bytes: frame), .first, on: topic, announced: true)
        }
        shard.replies.send(Array(#"{"type":"valueSet","id":\#(context.id ?? 0)}"#.utf8), to: context.connection)
    }

    // MARK: Watching

    func makeState() -> AnyObject? { nil }
    func isDoubtful(_ topic: Topic, for user: UserID) -> Bool { false }
    func read(_ topic: Topic, reply: @escaping StoreReply) {
        shard.store.command(["PING"], lane: .commands, reply: reply)
    }
    /// Redis has no value.
    func apply(_ value: RedisValue, of topic: Topic, announced: Bool) {}
}

import PresenceCore
import PresenceProtocol
import WebSockets

/// Two people to try things out with: tokens for the phones of the playground.
extension Console {
    /// ms. The page asks again before.
    private static let playgroundToken: Milliseconds = 3_600_000
    private static let players = [("playground-ana", "Ana"), ("playground-ben", "Ben")]

    func playground(_ call: HTTPCall) {
        guard shard.configuration.api.port == nil else {
            return call.refuse(
                404, .notFound, "clients have a port of their own here (api.port), which this page does not reach")
        }
        let phones = Self.players.compactMap { id, name in
            UserID(id).flatMap { shard.sign($0, nil, Self.playgroundToken, shard.clock.redisNow) }.map { token in
                #"{"user":"\#(id)","displayName":"\#(name)","token":\#(JSONWriter.encoded(token))}"#
            }
        }
        guard phones.count == Self.players.count else {
            return call.refuse(404, .notFound, "this server makes no tokens: it has no secret of its own")
        }
        call.respond(
            .json(200, #"{"phones":[\#(phones.joined(separator: ","))],"expiresIn":\#(Self.playgroundToken)}"#))
    }
}

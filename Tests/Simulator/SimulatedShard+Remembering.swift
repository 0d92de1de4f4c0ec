import Redis

@testable import PresenceCore
@testable import PresenceServer

extension SimulatedShard {
    /// The deliberate bug `remembersKeys`: answers a question about a key as it was answered before.
    ///
    /// - Returns: `nil` if the question is answered.
    func asked(_ script: Script, _ arguments: [String], _ reply: @escaping StoreReply) -> StoreReply? {
        guard world.misbehaviour.contains(.remembersKeys), script == .judgeKey else { return reply }
        if let earlier = remembered[arguments] {
            world.after(0) { [weak self] in self?.input { _ in reply(.success(earlier)) } }
            return nil
        }
        return { [weak self] answer in
            if case .success(let value) = answer, ScriptReply(value).word == "OK" {
                self?.remembered[arguments] = value
            }
            reply(answer)
        }
    }
}

import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// Redis that answers with errors for a moment.
extension HistoryRun {
    func refuseAll(_ why: Refusing, for duration: Milliseconds) {
        refusingNumber += 1
        let number = refusingNumber
        endRefusing()
        refusing = (why, number)
        // With full memory, leases are still renewed.
        if why != .memoryFull { redisIsDown(.refusal) }
        world.after(duration) { [weak self] in
            guard let self, refusing?.number == number else { return }
            endRefusing()
        }
    }

    func endRefusing() {
        refusing = nil
        redisIsUp(.refusal)
    }

    /// Redis' answer to a script, or to a command.
    func refusal(of script: Script?, _ words: [String]) -> RedisFailure? {
        if let script, let times = refusals[script] {
            refusals[script] = times > 1 ? times - 1 : nil
            return .server(code: "MISCONF", message: "MISCONF errors writing to the disk")
        }
        return refusing?.why.refusal(of: script, words)
    }
}

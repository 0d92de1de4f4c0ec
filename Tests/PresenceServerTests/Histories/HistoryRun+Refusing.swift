import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Redis that answers with errors for a moment.
extension HistoryRun {
    func refuseAll(_ why: Refusing, for duration: Milliseconds) {
        refusingNumber += 1
        let number = refusingNumber
        endRefusing()
        refusing = (why, number)
        // Where memory is full leases are renewed all the same.
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

    /// What Redis says to a script, or to a command.
    func refusal(of script: Script?, _ words: [String]) -> RedisFailure? {
        if let script, let times = refusals[script] {
            refusals[script] = times > 1 ? times - 1 : nil
            return .server(code: "MISCONF", message: "MISCONF errors writing to the disk")
        }
        guard let why = refusing?.why else { return nil }
        func failure(_ code: String) -> RedisFailure { .server(code: code, message: "\(code) for a moment") }
        let writes = script.map { ![.conversation, .policy].contains($0) } ?? ["SET", "HDEL"].contains(words.first)
        switch why {
        // A script that does not say that it writes nothing is taken for one that does.
        case .diskFull where script != nil || writes: return failure("MISCONF")
        case .fewReplicas where script != nil || writes: return failure("NOREPLICAS")
        case .memoryFull where script.map { !$0.source.hasPrefix("#!lua flags=allow-oom") } ?? (words.first == "SET"):
            return failure("OOM")
        case .busy: return failure("BUSY")
        case .loading where words.first != "PUBLISH": return failure("LOADING")
        default: return nil
        }
    }
}

import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer

/// The reason for which Redis temporarily rejects commands.
enum Refusing: Int, CaseIterable {
    case diskFull, fewReplicas, memoryFull, busy, loading, readOnly

    /// Redis' answer to a script, or to a command; `nil` if it runs it nevertheless.
    func refusal(of script: Script?, _ words: [String]) -> RedisFailure? {
        func failure(_ code: String) -> RedisFailure { .server(code: code, message: "\(code) for a moment") }
        let writes = script.map { $0 != .conversation } ?? ["SET", "HDEL"].contains(words.first)
        switch self {
        // Redis treats a script without the flag `no-writes` as one that writes.
        case .diskFull where script != nil || writes: return failure("MISCONF")
        case .fewReplicas where script != nil || writes: return failure("NOREPLICAS")
        // A replica still publishes.
        case .readOnly where script != nil || writes: return failure("READONLY")
        case .memoryFull where script.map { !$0.source.hasPrefix("#!lua flags=allow-oom") } ?? (words.first == "SET"):
            return failure("OOM")
        case .busy: return failure("BUSY")
        case .loading where words.first != "PUBLISH": return failure("LOADING")
        default: return nil
        }
    }
}

/// The faults of a drawn history's Redis: for a moment it rejects commands, does not answer, or restarts with its data.
/// A history that checks whether something has happened in time ends the fault first: the bounds of promises count from
/// the time at which Redis accepts writes again.
final class RedisTrouble {
    private unowned let world: World
    private var refusing: Refusing?
    /// The number of rejections left; `nil`: all until it ends.
    private var refusalsLeft: Int?
    private var isUnderWay = false
    /// How often there was a fault, and how many scripts and commands were rejected.
    private(set) var count = 0
    private(set) var refused = 0
    /// When Redis accepted everything again, by the world's time; 0: there was no fault.
    private(set) var endedAt: Milliseconds = 0

    init(_ world: World) {
        self.world = world
        world.redis.refuse = { [weak self] script, words in self?.refusal(of: script, words) }
    }

    private func refusal(of script: Script?, _ words: [String]) -> RedisFailure? {
        guard let failure = refusing?.refusal(of: script, words) else { return nil }
        refused += 1
        if let left = refusalsLeft {
            refusalsLeft = left - 1
            if left == 1 { end() }
        }
        return failure
    }

    /// There is only one fault at a time.
    func begin(_ draw: (ClosedRange<Int>) -> Int) {
        guard !isUnderWay else { return }
        isUnderWay = true
        count += 1
        let number = count
        // Mostly short, because otherwise the history would achieve little.
        let duration = draw(0...3) == 0 ? draw(200...9_000) : draw(200...1_500)
        switch draw(0...6) {
        case 0...2: refusing = Refusing.allCases[draw(0...Refusing.allCases.count - 1)]
        case 3, 4: (refusing, refusalsLeft) = (.diskFull, draw(1...3))
        case 5: world.redis.isSilent = true
        default:
            world.redis.isGone = true
            for shard in world.shards where !shard.isDead { shard.cutAll() }
        }
        world.after(Milliseconds(duration)) { [weak self] in if self?.count == number { self?.end() } }
    }

    /// Redis accepts everything again.
    func end() {
        guard isUnderWay else { return }
        isUnderWay = false
        endedAt = world.now
        (refusing, refusalsLeft) = (nil, nil)
        world.redis.isGone = false
        world.redis.isSilent = false
    }
}

import PresenceCore
import PresenceProtocol
import WebSockets

/// Limits the decoding of pictures: there are few threads for it, and a picture of some KB may occupy one for a second.
///
/// On each shard, a user has one picture decoded at a time and an address four, so neither can block the queue. User and
/// address each have a budget of core time per hour, which they may use at once. The cost of a picture is known only
/// afterwards; a user over the budget waits until the debt is paid off.
final class DecodingTurns {
    /// In ms of a core: some 400 photos of a phone.
    static let ofUser: Int64 = 60_000
    static let ofAddress: Int64 = 240_000
    static let mostOfAddress = 4

    private var users: Rates<UserID>
    private var addresses: Rates<AddressBlock>
    private var decoding: Set<UserID> = []
    private var atAddress: [AddressBlock: Int] = [:]

    /// A turn in progress.
    struct Turn {
        fileprivate let user: UserID
        fileprivate let address: AddressBlock
    }

    init(ofUser: Int64 = DecodingTurns.ofUser, ofAddress: Int64 = DecodingTurns.ofAddress) {
        users = Rates(RateLimit(perHour: ofUser))
        addresses = Rates(RateLimit(perHour: ofAddress))
    }

    /// - Returns: The turn, to be passed to `end`, or the time to wait.
    func begin(_ user: UserID, from address: AddressBlock, at now: Milliseconds) -> Result<Turn, Wait> {
        users.expire(now: now)
        addresses.expire(now: now)
        if decoding.contains(user) || address != .none && atAddress[address, default: 0] >= Self.mostOfAddress {
            return .failure(Wait(milliseconds: 1_000))
        }
        let waits = [
            users.wait(for: 1, by: user, at: now),
            address != .none ? addresses.wait(for: 1, by: address, at: now) : nil,
        ]
        if let wait = waits.compactMap(\.self).max() { return .failure(Wait(milliseconds: wait)) }
        decoding.insert(user)
        if address != .none { atAddress[address, default: 0] += 1 }
        return .success(Turn(user: user, address: address))
    }

    /// - Parameter used: The time of a core, in ms.
    func end(_ turn: Turn, used: Int, at now: Milliseconds) {
        decoding.remove(turn.user)
        users.consume(used, by: turn.user, at: now)
        guard turn.address != .none else { return }
        addresses.consume(used, by: turn.address, at: now)
        let left = atAddress[turn.address, default: 0] - 1
        atAddress[turn.address] = left > 0 ? left : nil
    }

    struct Wait: Error, Equatable { let milliseconds: Milliseconds }
}

import EventLoops
import WebSockets

/// How many WebSockets each address has, counted over all shards of the process: the kernel spreads one address'
/// connections over all of them.
///
/// One lock, taken when a connection comes and when it goes, and never on the way of data.
final class AddressLimits: Sendable {
    /// 0: no limit.
    private let most: Int
    private let countsLoopback: Bool
    private let counts = Locked<[AddressBlock: Int]>([:])

    init(_ limits: ServerConfiguration.Limits) {
        most = limits.connectionsPerAddress
        countsLoopback = limits.limitLoopback
    }

    /// A place for one more of this address, to be given back.
    func take(_ peer: PeerAddress) -> Place {
        guard most > 0, countsLoopback || !peer.isLoopback else { return .uncounted }
        let block = peer.block
        guard block != .none else { return .uncounted }
        return counts.withLock { counts in
            guard counts[block, default: 0] < most else { return .none }
            counts[block, default: 0] += 1
            return .counted(block)
        }
    }

    func give(_ block: AddressBlock) {
        counts.withLock { counts in
            guard let count = counts[block] else { return }
            counts[block] = count > 1 ? count - 1 : nil
        }
    }

    /// How many addresses are counted.
    var count: Int { counts.withLock { $0.count } }

    enum Place: Equatable {
        case counted(AddressBlock)
        case uncounted
        case none
    }
}

/// Whose connection stands at which index: 8 bytes each, nothing where nobody is counted.
struct AddressPlaces {
    private var blocks: [AddressBlock] = []

    mutating func set(_ block: AddressBlock, _ socket: SocketID) {
        let index = Int(socket.index)
        while blocks.count <= index { blocks.append(.none) }
        blocks[index] = block
    }

    /// Takes out what stands there.
    mutating func remove(_ socket: SocketID) -> AddressBlock? {
        let index = Int(socket.index)
        guard index < blocks.count, blocks[index] != .none else { return nil }
        defer { blocks[index] = .none }
        return blocks[index]
    }
}

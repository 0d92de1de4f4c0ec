import EventLoops
import WebSockets

/// How many connections each address has, counted over all shards of the process: the kernel spreads one address'
/// connections over all of them.
///
/// They count from their acceptance on. An address that has as many as it may have WebSockets gets a few connections
/// more, for HTTP and to be told so; beyond these it gets none.
///
/// One lock, taken when a connection comes and when it goes, and never on the way of data.
package final class AddressLimits: Sendable {
    /// 0: no limit.
    private let most: Int
    private let countsLoopback: Bool
    private let counts = Locked<[AddressBlock: Int]>([:])

    package init(_ limits: ServerConfiguration.Limits) {
        most = limits.connectionsPerAddress
        countsLoopback = limits.limitLoopback
    }

    /// So many more connections than WebSockets.
    static let spare = 64

    /// A place for one more of this address, to be given back.
    package func take(_ peer: PeerAddress) -> Place {
        guard most > 0, countsLoopback || !peer.isLoopback else { return .uncounted }
        let block = peer.block
        guard block != .none else { return .uncounted }
        return counts.withLock { counts in
            let count = counts[block, default: 0]
            guard count < most + Self.spare else { return .none }
            counts[block] = count + 1
            return count < most ? .counted(block) : .spare(block)
        }
    }

    func give(_ block: AddressBlock) {
        counts.withLock { counts in
            guard let count = counts[block] else { return }
            counts[block] = count > 1 ? count - 1 : nil
        }
    }

    /// How many addresses are counted.
    package var count: Int { counts.withLock { $0.count } }

    package enum Place: Equatable {
        case counted(AddressBlock)
        /// One in which there is no room for a WebSocket.
        case spare(AddressBlock)
        case uncounted
        case none
    }
}

/// Whose connection stands at which index: 8 bytes each, nothing where no address is counted.
struct CountedAddresses {
    private var blocks: [AddressBlock] = []

    package mutating func set(_ block: AddressBlock, _ socket: SocketID) {
        let index = Int(socket.index)
        while blocks.count <= index { blocks.append(.none) }
        blocks[index] = block
    }

    func isCounted(_ socket: SocketID) -> Bool {
        let index = Int(socket.index)
        return index < blocks.count && blocks[index] != .none
    }

    /// Takes out what stands there.
    package mutating func remove(_ socket: SocketID) -> AddressBlock? {
        let index = Int(socket.index)
        guard index < blocks.count, blocks[index] != .none else { return nil }
        defer { blocks[index] = .none }
        return blocks[index]
    }
}

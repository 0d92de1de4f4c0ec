import EventLoops
import WebSockets

/// The number of connections of each address, counted over all shards of the process, because the kernel distributes an
/// address' connections over all shards.
///
/// Connections count from when they are accepted. An address that has reached its limit of WebSockets gets a few
/// further connections, for HTTP and for being rejected with a reason; beyond these, none are accepted.
///
/// One lock, taken when a connection opens and closes, and never on the data path.
package final class AddressLimits: Sendable {
    /// 0: no limit.
    private let most: Int
    private let countsLoopback: Bool
    private let counts = Locked<[AddressBlock: Int]>([:])

    package init(_ limits: ServerConfiguration.Limits) {
        most = limits.connectionsPerAddress
        countsLoopback = limits.limitLoopback
    }

    /// The number of connections that an address may have beyond its limit of WebSockets.
    static let spare = 64

    /// Reserves a place for a connection of this address, to be released.
    package func reserve(_ peer: PeerAddress) -> Place {
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

    func release(_ block: AddressBlock) {
        counts.withLock { counts in
            guard let count = counts[block] else { return }
            counts[block] = count > 1 ? count - 1 : nil
        }
    }

    /// The number of counted addresses.
    package var count: Int { counts.withLock { $0.count } }

    package enum Place: Equatable {
        case counted(AddressBlock)
        /// A place without room for a WebSocket.
        case spare(AddressBlock)
        case uncounted
        case none
    }
}

/// The address block of each connection, by index: 8 bytes each, nothing if no address is counted.
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

    /// Removes and returns the entry.
    package mutating func remove(_ socket: SocketID) -> AddressBlock? {
        let index = Int(socket.index)
        guard index < blocks.count, blocks[index] != .none else { return nil }
        defer { blocks[index] = .none }
        return blocks[index]
    }
}

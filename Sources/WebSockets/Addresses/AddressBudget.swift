import EventLoops

/// A limit on the bytes (or places) that all connections of a process may hold for one purpose. Each address has a share of it. The
/// servers of all loops use the same budget.
///
/// A reservation succeeds if the address then holds at most as many bytes as were free before. With small reservations
/// one address alone gets half of the budget, the next address a quarter, and so on, so some bytes are always left for
/// another address. One lock, for addresses that are counted.
public final class AddressBudget: Sendable {
    let all: ByteBudget
    /// 0: no limit.
    private let most: Int
    private let countsLoopback: Bool
    private let ofAddress = Locked<[AddressBlock: Int]>([:])

    /// - Parameters:
    ///   - most: in bytes; 0 for no limit.
    ///   - countsLoopback: whether addresses of this machine have shares too; if not, a local proxy may use the whole
    ///     budget.
    public init(_ most: Int, countsLoopback: Bool = false) {
        (self.most, self.countsLoopback) = (most, countsLoopback)
        all = ByteBudget(most)
    }

    /// In bytes.
    public var held: Int { all.held }

    /// The block under which a peer is counted; `.none`: the peer has no share, and may use the whole budget.
    func block(of peer: PeerAddress) -> AddressBlock {
        countsLoopback || !peer.isLoopback ? peer.block : .none
    }

    /// Reserves this many further bytes, to be released with `release`; false if there is no room.
    package func reserve(_ bytes: Int, for block: AddressBlock) -> Bool {
        guard most > 0, block != .none else { return all.reserve(bytes) }
        return ofAddress.withLock { ofAddress in
            let own = ofAddress[block, default: 0]
            guard bytes == 0 || own + bytes <= most - all.held, all.reserve(bytes) else { return false }
            if bytes > 0 { ofAddress[block] = own + bytes }
            return true
        }
    }

    package func release(_ bytes: Int, of block: AddressBlock) {
        all.release(bytes)
        releaseShare(bytes, of: block)
    }

    /// Releases bytes of the address' share only.
    func releaseShare(_ bytes: Int, of block: AddressBlock) {
        guard most > 0, block != .none else { return }
        ofAddress.withLock { ofAddress in
            let left = ofAddress[block, default: 0] - bytes
            ofAddress[block] = left > 0 ? left : nil
        }
    }
}

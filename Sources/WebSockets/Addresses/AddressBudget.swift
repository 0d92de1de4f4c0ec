import EventLoops

/// How many bytes all connections of a process may hold of something, of which each address has a share; the servers of all
/// loops have one.
///
/// An address gets more as long as it holds, with that, no more than all left free before: of small pieces one alone gets half of
/// it, the next a quarter, and so on. So there is always some left for one more. One lock, for addresses that are counted.
public final class AddressBudget: Sendable {
    let all: ByteBudget
    /// 0: no limit.
    private let most: Int
    private let countsLoopback: Bool
    private let ofAddress = Locked<[AddressBlock: Int]>([:])

    /// - Parameters:
    ///   - most: in bytes; 0 for no limit.
    ///   - countsLoopback: whether addresses of this machine have shares too; if not, a proxy there has all of it.
    public init(_ most: Int, countsLoopback: Bool = false) {
        (self.most, self.countsLoopback) = (most, countsLoopback)
        all = ByteBudget(most)
    }

    /// In bytes.
    public var held: Int { all.held }

    /// As what a peer is counted; `.none`: it has no share, and may have all.
    func block(of peer: PeerAddress) -> AddressBlock {
        countsLoopback || !peer.isLoopback ? peer.block : .none
    }

    /// Room for so many bytes more, to be given back; false if there is none.
    func take(_ bytes: Int, for block: AddressBlock) -> Bool {
        guard most > 0, block != .none else { return all.take(bytes) }
        return ofAddress.withLock { ofAddress in
            let own = ofAddress[block, default: 0]
            guard bytes == 0 || own + bytes <= most - all.held, all.take(bytes) else { return false }
            if bytes > 0 { ofAddress[block] = own + bytes }
            return true
        }
    }

    func give(_ bytes: Int, of block: AddressBlock) {
        all.give(bytes)
        giveShare(bytes, of: block)
    }

    /// To the address alone.
    func giveShare(_ bytes: Int, of block: AddressBlock) {
        guard most > 0, block != .none else { return }
        ofAddress.withLock { ofAddress in
            let left = ofAddress[block, default: 0] - bytes
            ofAddress[block] = left > 0 ? left : nil
        }
    }
}

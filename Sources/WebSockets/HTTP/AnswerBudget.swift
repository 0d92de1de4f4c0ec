import EventLoops

/// How many bytes of long answers may wait for clients of a process that do not take them, shared by the servers of all loops.
///
/// An address gets more as long as it holds, with that, no more than all left free before: of short answers one alone gets half of
/// it, the next a quarter, and so on. So there is always some left for one more. One lock, taken twice for each long answer.
public final class AnswerBudget: Sendable {
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

    /// What an address holds, as long as this is kept.
    final class Share: Sendable {
        private let giveBack: @Sendable () -> Void
        fileprivate init(_ giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }
        deinit { giveBack() }
    }

    /// Room for so many bytes more, which are given back to `all`, and to their address with the share; `nil` if there is none.
    func take(_ bytes: Int, for peer: PeerAddress) -> Share? {
        let block = most > 0 && (countsLoopback || !peer.isLoopback) ? peer.block : .none
        guard block != .none else { return all.take(bytes) ? Share {} : nil }
        return ofAddress.withLock { ofAddress in
            let own = ofAddress[block, default: 0]
            guard own + bytes <= most - all.held, all.take(bytes) else { return nil }
            ofAddress[block] = own + bytes
            return Share { [self] in give(bytes, of: block) }
        }
    }

    private func give(_ bytes: Int, of block: AddressBlock) {
        ofAddress.withLock { ofAddress in
            let left = ofAddress[block, default: 0] - bytes
            ofAddress[block] = left > 0 ? left : nil
        }
    }
}

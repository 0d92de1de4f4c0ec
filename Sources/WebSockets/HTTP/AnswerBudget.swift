/// How many bytes of long answers may wait for clients of a process that do not take them, shared by the servers of all loops.
///
/// One lock, taken twice for each long answer to an address that has a share.
public final class AnswerBudget: Sendable {
    private let budget: AddressBudget

    /// - Parameters:
    ///   - most: in bytes; 0 for no limit.
    ///   - countsLoopback: whether addresses of this machine have shares too; if not, a proxy there has all of it.
    public init(_ most: Int, countsLoopback: Bool = false) {
        budget = AddressBudget(most, countsLoopback: countsLoopback)
    }

    var all: ByteBudget { budget.all }
    /// In bytes.
    public var held: Int { budget.held }

    /// What an address holds, as long as this is kept.
    final class Share: Sendable {
        private let budget: AddressBudget
        private let bytes: Int
        private let block: AddressBlock

        fileprivate init(_ bytes: Int, of block: AddressBlock, in budget: AddressBudget) {
            (self.budget, self.bytes, self.block) = (budget, bytes, block)
        }

        deinit { budget.giveShare(bytes, of: block) }
    }

    /// Room for so many bytes more, which are given back to `all`, and to their address with the share; `nil` if there is none.
    func take(_ bytes: Int, for peer: PeerAddress) -> Share? {
        let block = budget.block(of: peer)
        return budget.take(bytes, for: block) ? Share(bytes, of: block, in: budget) : nil
    }
}

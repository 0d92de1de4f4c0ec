/// A limit on the bytes of long answers that wait for slow clients in this process, shared by the servers of all loops.
///
/// One lock, acquired twice for each long answer to an address that has a share.
public final class AnswerBudget: Sendable {
    private let budget: AddressBudget

    /// - Parameters:
    ///   - most: in bytes; 0 for no limit.
    ///   - countsLoopback: whether addresses of this machine have shares too; if not, a local proxy may use the whole
    ///     budget.
    public init(_ most: Int, countsLoopback: Bool = false) {
        budget = AddressBudget(most, countsLoopback: countsLoopback)
    }

    var all: ByteBudget { budget.all }
    /// In bytes.
    public var held: Int { budget.held }

    /// The bytes of one address, reserved as long as this object is kept.
    final class Share: Sendable {
        private let budget: AddressBudget
        private let bytes: Int
        private let block: AddressBlock

        fileprivate init(_ bytes: Int, of block: AddressBlock, in budget: AddressBudget) {
            (self.budget, self.bytes, self.block) = (budget, bytes, block)
        }

        deinit { budget.releaseShare(bytes, of: block) }
    }

    /// Reserves this many further bytes; `nil` if there is no room. They must be released to `all`; the share releases
    /// them for their address.
    func reserve(_ bytes: Int, for peer: PeerAddress) -> Share? {
        let block = budget.block(of: peer)
        return budget.reserve(bytes, for: block) ? Share(bytes, of: block, in: budget) : nil
    }
}

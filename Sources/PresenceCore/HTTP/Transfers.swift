import EventLoops
import PresenceProtocol
import WebSockets

/// How many files come and go over HTTP at a time, counted over all shards of the process: all, and those of each address, so
/// that one that is slow leaves places for others.
///
/// Each upload holds up to two pieces in memory and a descriptor, each download one. One lock, taken twice for each of them.
package final class Transfers: Sendable {
    /// Those of one direction.
    private struct Count {
        let most: Int
        /// 0: no limit.
        let mostOfAddress: Int
        private(set) var all = 0
        private var ofAddress: [AddressBlock: Int] = [:]

        init(_ most: Int, ofAddress: Int) { (self.most, mostOfAddress) = (most, ofAddress) }

        var isFull: Bool { all >= most }

        func isFull(for address: AddressBlock) -> Bool {
            mostOfAddress > 0 && ofAddress[address, default: 0] >= mostOfAddress
        }

        mutating func take(_ address: AddressBlock) {
            all += 1
            if address != .none { ofAddress[address, default: 0] += 1 }
        }

        mutating func give(_ address: AddressBlock) {
            all -= 1
            guard let count = ofAddress[address] else { return }
            ofAddress[address] = count > 1 ? count - 1 : nil
        }
    }

    private struct State {
        var uploads: Count
        var downloads: Count
        var uploading: Set<UserID> = []
    }

    private let state: Locked<State>

    package init(_ limits: ServerConfiguration.Limits) {
        state = Locked(
            State(
                uploads: Count(limits.uploads, ofAddress: limits.uploadsPerAddress),
                downloads: Count(limits.downloads, ofAddress: limits.downloadsPerAddress)))
    }

    /// Held as long as the transfer lasts.
    package final class Slot: Sendable {
        private let giveBack: @Sendable () -> Void
        fileprivate init(_ giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }
        deinit { giveBack() }
    }

    /// - Parameters:
    ///   - user: whose only one it may be; `nil` for a backend.
    ///   - address: which has its share of them; `.none`: it is not counted.
    /// - Throws: the limit that was met.
    package func beginUpload(by user: UserID?, from address: AddressBlock) throws(LimitMet) -> Slot {
        let met: Limit? = state.withLock { state in
            if let user, state.uploading.contains(user) { return .userUploads }
            if state.uploads.isFull(for: address) { return .uploadsPerAddress }
            if state.uploads.isFull { return .uploads }
            state.uploads.take(address)
            if let user { state.uploading.insert(user) }
            return nil
        }
        if let met { throw LimitMet(limit: met) }
        return Slot { [self] in
            state.withLock { state in
                state.uploads.give(address)
                if let user { state.uploading.remove(user) }
            }
        }
    }

    /// - Parameter address: which has its share of them; `.none`: it is not counted.
    /// - Throws: the limit that was met.
    package func beginDownload(to address: AddressBlock) throws(LimitMet) -> Slot {
        let met: Limit? = state.withLock { state in
            if state.downloads.isFull(for: address) { return .downloadsPerAddress }
            if state.downloads.isFull { return .downloads }
            state.downloads.take(address)
            return nil
        }
        if let met { throw LimitMet(limit: met) }
        return Slot { [self] in state.withLock { $0.downloads.give(address) } }
    }

    package struct LimitMet: Error { package let limit: Limit }

    package var uploads: Int { state.withLock { $0.uploads.all } }
    package var downloads: Int { state.withLock { $0.downloads.all } }
}

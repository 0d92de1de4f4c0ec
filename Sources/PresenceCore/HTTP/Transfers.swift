import EventLoops
import PresenceProtocol
import Synchronization
import WebSockets

/// Limits concurrent transfers of files over HTTP, counted over all shards of the process: in total and for each
/// address, so that slow clients of one address leave places for others.
///
/// Each upload uses a descriptor and the memory of up to two pieces, each download the memory of one piece. One lock, taken
/// twice for each transfer.
///
/// If all places of a direction are taken, a new transfer may get the place of another (`Slot.displace`): of the
/// slowest one of the address with the most places. That transfer must be slow, and its address must have more places
/// than the new transfer's address would then have. So a client that occupies many places while sending a byte now and
/// then does not block others.
package final class Transfers: Sendable {
    /// In ms. A younger transfer is not displaced, since its speed is unknown.
    static let grace: Milliseconds = 5_000
    /// Bytes a second: a transfer of this speed keeps its place.
    static let fastEnough = 32 * 1024

    /// The transfers of one direction.
    private struct Count {
        let most: Int
        /// 0: no limit.
        let mostOfAddress: Int
        private(set) var underWay: [UInt64: UnderWay] = [:]
        private var ofAddress: [AddressBlock: Int] = [:]

        init(_ most: Int, ofAddress: Int) { (self.most, mostOfAddress) = (most, ofAddress) }

        var all: Int { underWay.count }
        var isFull: Bool { all >= most }

        func isFull(for address: AddressBlock) -> Bool {
            mostOfAddress > 0 && address != .none && ofAddress[address, default: 0] >= mostOfAddress
        }

        mutating func reserve(_ number: UInt64, _ transfer: UnderWay) {
            underWay[number] = transfer
            ofAddress[transfer.address, default: 0] += 1
        }

        mutating func release(_ number: UInt64) -> UnderWay? {
            guard let transfer = underWay.removeValue(forKey: number) else { return nil }
            let left = ofAddress[transfer.address, default: 0] - 1
            ofAddress[transfer.address] = left > 0 ? left : nil
            return transfer
        }

        /// The transfer to be displaced by a new one of this address.
        func slowest(for address: AddressBlock, at now: Milliseconds) -> UInt64? {
            guard let (fullest, count) = ofAddress.max(by: { $0.value < $1.value }),
                count > ofAddress[address, default: 0] + 1
            else { return nil }
            let rates = underWay.filter { $0.value.address == fullest }.compactMap { number, transfer in
                transfer.rate(at: now).map { (number: number, rate: $0) }
            }
            return rates.min { $0.rate < $1.rate }.flatMap { $0.rate < Transfers.fastEnough ? $0.number : nil }
        }
    }

    private struct UnderWay {
        let address: AddressBlock
        let user: UserID?
        let began: Milliseconds
        weak var slot: Slot?

        /// In bytes a second; `nil` while it is too young.
        func rate(at now: Milliseconds) -> Int? {
            guard let slot, now - began >= Transfers.grace else { return nil }
            return slot.moved.load(ordering: .relaxed) * 1_000 / Int(now - began)
        }
    }

    private struct State {
        var uploads: Count
        var downloads: Count
        var uploading: Set<UserID> = []
        var number: UInt64 = 0
    }

    private let state: Locked<State>

    package init(_ limits: ServerConfiguration.Limits) {
        state = Locked(
            State(
                uploads: Count(limits.uploads, ofAddress: limits.uploadsPerAddress),
                downloads: Count(limits.downloads, ofAddress: limits.downloadsPerAddress)))
    }

    /// Retained for the duration of the transfer.
    package final class Slot: Sendable {
        fileprivate let moved = Atomic(0)
        private let end = Locked<(@Sendable () -> Void)?>(nil)
        private let giveBack: @Sendable () -> Void

        fileprivate init(_ giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }
        deinit { giveBack() }

        /// Counts bytes that were received or sent.
        package func move(_ bytes: Int) { moved.wrappingAdd(bytes, ordering: .relaxed) }

        /// - Parameter end: Ends the transfer after it was displaced. Called on any thread.
        package func whenDisplaced(_ end: @escaping @Sendable () -> Void) { self.end.withLock { $0 = end } }

        fileprivate func displace() { end.withLock { $0 }?() }
    }

    /// - Parameters:
    ///   - user: Has at most one upload; `nil` for a backend.
    ///   - address: Has a share of the places; `.none` if it is not counted.
    /// - Throws: The limit that was met.
    package func beginUpload(
        by user: UserID?, from address: AddressBlock, at now: Milliseconds
    ) throws(LimitMet) -> Slot {
        try begin(\.uploads, of: user, address, at: now, full: .uploads, fullForAddress: .uploadsPerAddress)
    }

    /// - Parameter address: Has a share of the places; `.none` if it is not counted.
    /// - Throws: The limit that was met.
    package func beginDownload(to address: AddressBlock, at now: Milliseconds) throws(LimitMet) -> Slot {
        try begin(\.downloads, of: nil, address, at: now, full: .downloads, fullForAddress: .downloadsPerAddress)
    }

    private func begin(
        _ direction: WritableKeyPath<State, Count> & Sendable, of user: UserID?, _ address: AddressBlock,
        at now: Milliseconds,
        full: Limit, fullForAddress: Limit
    ) throws(LimitMet) -> Slot {
        let outcome = state.withLock { state -> (Slot?, Limit?, displaced: Slot?) in
            if let user, state.uploading.contains(user) { return (nil, .userUploads, nil) }
            if state[keyPath: direction].isFull(for: address) { return (nil, fullForAddress, nil) }
            var displaced: Slot?
            if state[keyPath: direction].isFull {
                guard let slowest = state[keyPath: direction].slowest(for: address, at: now),
                    let transfer = state[keyPath: direction].release(slowest)
                else { return (nil, full, nil) }
                if let user = transfer.user { state.uploading.remove(user) }
                displaced = transfer.slot
            }
            state.number += 1
            let number = state.number
            let slot = Slot { [self] in release(number, direction) }
            state[keyPath: direction].reserve(number, UnderWay(address: address, user: user, began: now, slot: slot))
            if let user { state.uploading.insert(user) }
            return (slot, nil, displaced)
        }
        outcome.displaced?.displace()
        guard let slot = outcome.0 else { throw LimitMet(limit: outcome.1 ?? full) }
        return slot
    }

    private func release(_ number: UInt64, _ direction: WritableKeyPath<State, Count> & Sendable) {
        state.withLock { state in
            // A displaced transfer was already removed.
            if let user = state[keyPath: direction].release(number)?.user { state.uploading.remove(user) }
        }
    }

    package struct LimitMet: Error { package let limit: Limit }

    package var uploads: Int { state.withLock { $0.uploads.all } }
    package var downloads: Int { state.withLock { $0.downloads.all } }
}

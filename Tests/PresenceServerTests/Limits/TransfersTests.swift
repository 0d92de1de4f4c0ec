import EventLoops
import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore
@testable import WebSockets

@Suite struct TransfersTests {
    private let ana = UserID("ana")!
    private let one = PeerAddress(host: "192.0.2.1")!.block
    private let two = PeerAddress(host: "192.0.2.2")!.block

    private func transfers(_ adjust: (inout ServerConfiguration.Limits) -> Void) -> Transfers {
        var limits = ServerConfiguration.Limits()
        adjust(&limits)
        return Transfers(limits)
    }

    private func limit<Value>(_ begin: () throws -> Value) -> Limit? {
        do {
            _ = try begin()
            return nil
        } catch {
            return (error as? Transfers.LimitMet)?.limit
        }
    }

    @Test func `an address gets exactly its share of downloads`() throws {
        let transfers = transfers { ($0.downloads, $0.downloadsPerAddress) = (3, 2) }
        var slots = [try transfers.beginDownload(to: one, at: 0), try transfers.beginDownload(to: one, at: 0)]
        expect(limit { try transfers.beginDownload(to: one, at: 0) }, equals: .downloadsPerAddress)
        slots.append(try transfers.beginDownload(to: two, at: 0))
        expect(limit { try transfers.beginDownload(to: two, at: 0) }, equals: .downloads)
        expect(limit { try transfers.beginDownload(to: .none, at: 0) }, equals: .downloads)
        expect(transfers.downloads, equals: 3)
        slots.removeFirst()
        expect(transfers.downloads == 2 && limit { try transfers.beginDownload(to: one, at: 0) } == nil)
        slots = []
        expect(transfers.downloads, equals: 0)
    }

    @Test func `an address gets its share of uploads, and a user one from all addresses`() throws {
        let transfers = transfers { ($0.uploads, $0.uploadsPerAddress) = (3, 1) }
        let slots = [
            try transfers.beginUpload(by: ana, from: one, at: 0),
            try transfers.beginUpload(by: nil, from: .none, at: 0),
        ]
        expect(limit { try transfers.beginUpload(by: ana, from: two, at: 0) }, equals: .userUploads)
        expect(limit { try transfers.beginUpload(by: nil, from: one, at: 0) }, equals: .uploadsPerAddress)
        let last = try transfers.beginUpload(by: nil, from: .none, at: 0)
        expect(limit { try transfers.beginUpload(by: nil, from: two, at: 0) }, equals: .uploads)
        withExtendedLifetime((slots, last)) {}
    }

    @Test func `without a share an address may use all places`() throws {
        let transfers = transfers { ($0.downloads, $0.downloadsPerAddress) = (3, 0) }
        let slots = try (0..<3).map { _ in try transfers.beginDownload(to: one, at: 0) }
        expect(limit { try transfers.beginDownload(to: one, at: 0) }, equals: .downloads)
        withExtendedLifetime(slots) {}
    }

    @Test func `when all places are taken, the slowest transfer of the address with the most gives way`() throws {
        let transfers = transfers { ($0.uploads, $0.uploadsPerAddress) = (4, 3) }
        let ended = Locked<[String]>([])
        func begin(_ name: String, from address: AddressBlock, at now: Milliseconds) throws -> Transfers.Slot {
            let slot = try transfers.beginUpload(by: UserID(name), from: address, at: now)
            slot.whenDisplaced { ended.withLock { $0.append(name) } }
            return slot
        }
        var slots = [
            try begin("slow", from: one, at: 0), try begin("slowest", from: one, at: 0),
            try begin("fast", from: one, at: 0),
            try begin("other", from: two, at: 0),
        ]
        slots[0].move(2_000)
        slots[1].move(1_000)
        slots[2].move(32 * 1024 * 5)
        // Young transfers stay.
        expect(limit { try begin("new", from: two, at: 4_999) }, equals: .uploads)
        expect(limit { try begin("new", from: one, at: 5_000) }, equals: .uploadsPerAddress)
        let third = PeerAddress(host: "192.0.2.3")!.block
        slots.append(try begin("new", from: third, at: 5_000))
        expect(ended.withLock { $0 } == ["slowest"] && transfers.uploads == 4)
        // The displaced user may try again; the place that they give back belongs to another transfer.
        slots.remove(at: 1)
        expect(transfers.uploads == 4 && limit { try begin("slowest", from: third, at: 5_000) } == .uploads)
        // Two against one is as even as possible, and a fast transfer keeps its place.
        expect(limit { try begin("more", from: two, at: 60_000) }, equals: .uploads)
        slots.removeAll()
        expect(transfers.uploads == 0 && limit { try begin("slow", from: one, at: 0) } == nil)
        expect(transfers.uploads, equals: 0)
    }

    @Test func `a fast enough transfer keeps its place`() throws {
        let transfers = transfers { ($0.downloads, $0.downloadsPerAddress) = (2, 2) }
        let slots = try (0..<2).map { _ in try transfers.beginDownload(to: one, at: 0) }
        for slot in slots { slot.move(Transfers.fastEnough * 10) }
        expect(limit { try transfers.beginDownload(to: two, at: 10_000) }, equals: .downloads)
        slots[0].move(-1)
        expect(limit { try transfers.beginDownload(to: two, at: 10_000) }, equals: nil)
    }
}

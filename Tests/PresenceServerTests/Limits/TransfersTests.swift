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

    @Test func `an address gets its share of downloads to the last one, and not one more`() throws {
        let transfers = transfers { ($0.downloads, $0.downloadsPerAddress) = (3, 2) }
        var slots = [try transfers.beginDownload(to: one), try transfers.beginDownload(to: one)]
        #expect(limit { try transfers.beginDownload(to: one) } == .downloadsPerAddress)
        slots.append(try transfers.beginDownload(to: two))
        #expect(limit { try transfers.beginDownload(to: two) } == .downloads)
        #expect(limit { try transfers.beginDownload(to: .none) } == .downloads)
        #expect(transfers.downloads == 3)
        slots.removeFirst()
        #expect(transfers.downloads == 2 && limit { try transfers.beginDownload(to: one) } == nil)
        slots = []
        #expect(transfers.downloads == 0)
    }

    @Test func `an address gets its share of uploads, and a user one from anywhere`() throws {
        let transfers = transfers { ($0.uploads, $0.uploadsPerAddress) = (3, 1) }
        let slots = [try transfers.beginUpload(by: ana, from: one), try transfers.beginUpload(by: nil, from: .none)]
        #expect(limit { try transfers.beginUpload(by: ana, from: two) } == .userUploads)
        #expect(limit { try transfers.beginUpload(by: nil, from: one) } == .uploadsPerAddress)
        let last = try transfers.beginUpload(by: nil, from: .none)
        #expect(limit { try transfers.beginUpload(by: nil, from: two) } == .uploads)
        withExtendedLifetime((slots, last)) {}
    }

    @Test func `without a share an address may have all of them`() throws {
        let transfers = transfers { ($0.downloads, $0.downloadsPerAddress) = (3, 0) }
        let slots = try (0..<3).map { _ in try transfers.beginDownload(to: one) }
        #expect(limit { try transfers.beginDownload(to: one) } == .downloads)
        withExtendedLifetime(slots) {}
    }
}

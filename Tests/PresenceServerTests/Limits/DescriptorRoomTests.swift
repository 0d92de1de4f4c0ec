import Expectations
import Testing

@testable import PresenceCore

@Suite struct DescriptorRoomTests {
    private func room(_ files: Int, shards: Int = 2, handshakes: Int = 1_000) -> DescriptorRoom {
        var limits = ServerConfiguration.Limits()
        limits.handshakes = handshakes
        return DescriptorRoom(of: files, shards: shards, limits: limits)
    }

    @Test func `all kinds of connections, Redis and the rest fit into the open files`() {
        expect(room(20_000).handshakes == 1_000 && room(20_000).webSockets == 20_000 - 200 - 1_000)
        expect(room(20_000, handshakes: 16).webSockets, equals: 20_000 - 200 - 16)
        expect(room(20_000, shards: 64).webSockets, equals: 20_000 - 136 - 64 * 32 - 1_000)
        for files in [256, 1_024, 4_096, 1_048_576] {
            let room = room(files)
            expect(room.webSockets + room.handshakes, equals: max(32, files - 200), "\(files)")
        }
    }

    @Test func `with few open files, most are for WebSockets, and both kinds always have some`() {
        expect(room(1_024).handshakes == 206 && room(1_024).webSockets == 618)
        expect(room(64).handshakes == 16 && room(64).webSockets == 16)
    }
}

import Expectations
import Foundation
import PresenceKit
import Testing

/// Devices that disappear without a close, played by a Python process that is killed or stopped.
@Suite(
    .sharedServer([
        "heartbeat.interval": "1s", "heartbeat.timeout": "3s", "linger": "1s", "lease.duration": "4s",
        "lease.renewal": "1s",
    ]),
    .enabled(if: PythonWatcher.isAvailable, "needs Debian's python3-websockets"))
struct VanishingTests {
    let server = SharedServer.current!

    @Test(arguments: [SIGKILL, SIGSTOP])
    func `a device that vanishes lingers, and then is offline since its last sign of life`(signal: Int32) async throws {
        let user = "vanish-\(signal)"
        let watcher = server.client("watcher-\(signal)")
        let presence = Sightings(watcher.presence(of: user))
        try await presence.until("an answer") { $0.freshness.isLive }
        let device = try PythonWatcher(of: server, token: try await server.token(user), users: [])
        try await presence.until("online", \.isOnline)
        // One machine, one clock: this is the server's time too.
        let vanishedAt = Date()
        device.process.signal(signal)
        let gone = try await presence.until("offline") { !$0.isOnline }
        let lastSeen = try #require(gone.lastSeen)
        expect(lastSeen.timeIntervalSince(vanishedAt) < 0.1)
        // Not before linger is over, nor long after the 5 s bound of ghosts: a slow machine may be late.
        let madeAt = try #require(gone.arrival?.madeAt)
        expect((0.99..<8).contains(madeAt.timeIntervalSince(lastSeen)))
        await expect(presence.all.filter(\.isKnown).map(\.isOnline), equals: [true, false])
    }
}

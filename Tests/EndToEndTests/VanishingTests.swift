import Foundation
import PresenceKit
import Testing

/// Devices that are gone without a word, played by a Python process that is killed or stopped.
@Suite(
    .sharedServer([
        "heartbeat.interval": "1s", "heartbeat.timeout": "1s", "linger": "1s", "lease.duration": "4s",
        "lease.renewal": "1s",
    ]),
    .enabled(if: PythonWatcher.isAvailable, "needs Debian's python3-websockets"))
struct VanishingTests {
    let server = SharedServer.current!

    @Test(arguments: [SIGKILL, SIGSTOP])
    func `a device that vanishes lingers, and then is offline since it was last heard of`(signal: Int32) async throws {
        let user = "vanish-\(signal)"
        let watcher = server.client("watcher-\(signal)")
        let presence = Sightings(watcher.presence(of: user))
        try await presence.until("an answer") { $0.freshness.isLive }
        let device = try PythonWatcher(of: server, token: try await server.token(user), users: [])
        try await presence.until("online", \.isOnline)
        let vanishedAt = await watcher.serverNow
        device.process.signal(signal)
        let gone = try await presence.until("offline") { !$0.isOnline }
        let lastSeen = try #require(gone.lastSeen)
        // Never before linger is over; what was received last came before the end, but for a rounded millisecond or so.
        #expect(await watcher.serverNow.timeIntervalSince(lastSeen) >= 0.9)
        #expect(lastSeen.timeIntervalSince(vanishedAt) < 0.5)
        #expect(await presence.all.filter(\.isKnown).map(\.isOnline) == [true, false])
    }
}

import Expectations
import Testing

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

struct HeldLeaseTests {
    /// A server that renewed in the very millisecond of the first look, and was killed then, has not renewed since.
    @Test func `a renewal in the millisecond of a look does not count as one after it`() {
        let held = HeldLeases(["same", "1000 9000", "later", "1001 9000", "earlier", "999 9000"], now: 1_200)
        expect(held.renewing(after: 1_000), equals: ["later"])
    }

    @Test func `an incarnation that is being reaped or has an expired lease does not count as running`() {
        let held = HeldLeases(["reaped", "reaping 1100 9000", "over", "1100 1200", "runs", "1100 1201 4"], now: 1_200)
        expect(held.renewing(after: 1_000), equals: ["runs"])
    }

    @Test func `while all servers have just started, expired leases are not overdue`() {
        let dead = ["dead", "1000 2000"]
        expect(HeldLeases(dead + ["new", "99000 110000 95000"], now: 100_000).isSettling(within: 10_000))
        expect(!HeldLeases(dead + ["new", "99000 110000 90000"], now: 100_000).isSettling(within: 10_000))
        let one = dead + ["new", "99000 110000 95000", "old", "99000 110000 5"]
        expect(!HeldLeases(one, now: 100_000).isSettling(within: 10_000))
        // No server is left to reap them.
        expect(!HeldLeases(dead, now: 100_000).isSettling(within: 10_000))
    }
}

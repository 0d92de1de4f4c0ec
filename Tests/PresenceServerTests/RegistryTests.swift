import Expectations
import Testing

@testable import PresenceCore

/// Registrations that are rejected because they would never be called or would hide another one.
@Suite struct RegistryTests {
    @Test func `a feature cannot register an event of the core or of another feature`() async {
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.event("P") { _ in }
        }
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.event("F") { _ in }
        }
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.event("L") { _ in }
            registry.event("L") { _ in }
        }
    }

    @Test func `two routes of a method may not be equal or ambiguous`() async {
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.route("GET", "/v1/polls/{id}", for: .users) { _ in }
            registry.route("GET", "/v1/polls/{id}", for: .users) { _ in }
        }
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.route("GET", "/v1/polls/{id}/votes", for: .users) { _ in }
            registry.route("GET", "/v1/polls/open/{id}", for: .users) { _ in }
        }
        // "open" is more specific than a poll's id, and other methods are separate.
        var registry = Registry()
        registry.route("GET", "/v1/polls/{id}", for: .users) { _ in }
        registry.route("GET", "/v1/polls/open", for: .users) { _ in }
        registry.route("POST", "/v1/polls/{id}", for: .users) { _ in }
        registry.route("GET", "/v1/votes/{id}", for: .users) { _ in }
        expect(registry.routes.count, equals: 4)
    }

    @Test(arguments: ["/healthz", "/readyz", "/metrics", "/v1/ws"])
    func `a feature cannot register a path of the core`(path: String) async {
        expect(Route.isCore(path))
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.route("GET", "/metrics") { _ in }
        }
    }

    @Test func `a metric belongs to one feature, and none to the core as well`() async {
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.gauge("polls_open", help: "") { 0 }
            _ = registry.counter("polls_open", help: "")
        }
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.gauge("connections", help: "") { 0 }
        }
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            _ = registry.counter("batch_events_count", help: "")
        }
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            _ = registry.counter("presence_polls_total", help: "")
        }
    }

    @Test func `all metrics of a server without features are known as the core's`() {
        var snapshot = MetricsSnapshot()
        (snapshot.certificateExpiry, snapshot.redisClockOffset) = (0, 0)
        let names = snapshot.page.split(separator: "\n").filter { $0.hasPrefix("# TYPE presence_") }.map {
            String($0.dropFirst("# TYPE presence_".count).prefix { $0 != " " })
        }
        expect(names.count > 40)
        for name in names { expect(MetricsSnapshot.isCore(name), "\(name)") }
    }
}

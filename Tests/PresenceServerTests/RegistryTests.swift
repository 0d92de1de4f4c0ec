import Testing

@testable import PresenceCore

/// What a feature cannot register, because it would never be called or would hide something else.
@Suite struct RegistryTests {
    @Test func `an event of the core, or of another feature, is not a feature's`() async {
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

    @Test func `two calls of one method are not equal, and none names neither more nor less than another`() async {
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.route("GET", "/v1/polls/{id}") { _ in }
            registry.route("GET", "/v1/polls/{id}") { _ in }
        }
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.route("GET", "/v1/polls/{id}/votes") { _ in }
            registry.route("GET", "/v1/polls/open/{id}") { _ in }
        }
        // "open" is the one that names more, and a poll in another.
        var registry = Registry()
        registry.route("GET", "/v1/polls/{id}") { _ in }
        registry.route("GET", "/v1/polls/open") { _ in }
        registry.route("POST", "/v1/polls/{id}") { _ in }
        registry.route("GET", "/v1/votes/{id}") { _ in }
        #expect(registry.routes.count == 4)
    }

    @Test(arguments: ["/healthz", "/readyz", "/metrics", "/v1/ws"])
    func `a path that the core answers is not a feature's`(path: String) async {
        #expect(Route.isCore(path))
        await #expect(processExitsWith: .failure) {
            var registry = Registry()
            registry.route("GET", "/metrics") { _ in }
        }
    }

    @Test func `a metric is one feature's, and not the core's`() async {
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

    @Test func `each number of the page without features is known as the core's`() {
        var snapshot = MetricsSnapshot()
        (snapshot.certificateExpiry, snapshot.redisClockOffset) = (0, 0)
        let names = snapshot.page.split(separator: "\n").filter { $0.hasPrefix("# TYPE presence_") }.map {
            String($0.dropFirst("# TYPE presence_".count).prefix { $0 != " " })
        }
        #expect(names.count > 40)
        for name in names { #expect(MetricsSnapshot.isCore(name), "\(name)") }
    }
}

import EventLoops
import Expectations
import Testing

@testable import OutgoingHTTP

/// The number of concurrent transfers, and how they end.
@Suite struct BoundTests {
    @Test func `of two hundred calls at once sixty-four run, and all are answered`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        let request = servers.request("/hold", within: 60)
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<200 { group.addTask { (try? await client.send(request))?.status ?? 0 } }
            group.addTask {
                await servers.heard("arrived GET /hold", 64)
                expect(client.numbers.running, equals: 64)
                // The bound is for all requests: this one would wait behind those that it releases, so it has a client
                // of its own.
                let most = try? await OutgoingClient().send(servers.request("/release"))
                expect(most?.body, equals: Array("64".utf8))
                return 200
            }
            let all = await group.reduce(into: [Int]()) { $0.append($1) }
            expect(all.count == 201 && all.allSatisfy { $0 == 200 })
        }
        try await expect(servers.count("arrived GET /hold"), equals: 200)
        let numbers = client.numbers
        expect(numbers.answered == 200 && numbers.running == 0 && numbers.queued == 0 && numbers.refused == 0)
    }

    @Test func `more than may wait is refused at once, and sent when there is room`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1, mostQueued: 1)
        async let first = client.result(servers.request("/hold"))
        await servers.heard("arrived GET /hold")
        let second = await client.begin(servers.request("/status/201"))
        expect(client.numbers.queued, equals: 1)
        guard case .overloaded(let wait)? = await client.failure(servers.request("/echo")) else {
            Issue.record("it was not refused")
            return
        }
        expect((0.1...60).contains(wait) && client.numbers.refused == 1)
        _ = try await OutgoingClient().send(servers.request("/release"))
        try await expect(first.get().status, equals: 200)
        try await expect(second.value.get().status, equals: 201)
        try await expect(servers.count("arrived GET /echo"), equals: 0)
        try await expect(client.send(servers.request("/echo")).status, equals: 200)
    }

    @Test func `the time limit includes the queue, and a request that never began is not sent`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1, mostQueued: 5)
        async let first = client.failure(servers.request("/never", within: 30))
        await servers.heard("arrived GET /never")
        guard case .overloaded(let wait)? = await client.failure(servers.request("/echo", within: 0.2)) else {
            Issue.record("it began, or was not refused")
            return
        }
        expect((0.1...60).contains(wait))
        try await expect(servers.count("arrived GET /echo") == 0 && client.numbers.running == 1)
        client.stop()
        await expect(first, equals: .stopped)
    }

    @Test func `with a limit of its own for the queue, a request has its whole time after the wait`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1, mostQueued: 5)
        async let first = client.result(servers.request("/hold", within: 60))
        await servers.heard("arrived GET /hold")
        var request = servers.request("/status/201", within: 2)
        request.limits.waiting = 60
        let second = await client.begin(request)
        // Its failure shows that more than the second's total has passed.
        request = servers.request("/echo", within: 60)
        request.limits.waiting = 2.2
        guard case .overloaded? = await client.failure(request) else {
            Issue.record("it began, or was not refused")
            return
        }
        _ = try await OutgoingClient().send(servers.request("/release"))
        try await expect(first.get().status, equals: 200)
        try await expect(second.value.get().status, equals: 201)
        try await expect(servers.count("arrived GET /echo"), equals: 0)
        // A call that began has its own failure.
        request = servers.request("/never", within: 0.2)
        request.limits.waiting = 60
        await expect(client.failure(request), equals: .timeout)
    }

    @Test func `a stop aborts running and waiting requests, and all senders get a result`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 3)
        var calls: [Task<Result<OutgoingResponse, OutgoingFailure>, Never>] = []
        for path in ["/never", "/begun", "/slow", "/echo"] { calls.append(await client.begin(servers.request(path))) }
        for path in ["/never", "/begun", "/slow"] { await servers.heard("arrived GET \(path)") }
        client.stop()
        for call in calls {
            let result = await call.value
            #expect(throws: OutgoingFailure.stopped) { try result.get() }
        }
        await servers.heard("left /slow")
        try await expect(servers.count("arrived GET /echo"), equals: 0)
        await expect(client.failure(servers.request("/echo")), equals: .stopped)
        client.stop()
        expect(client.numbers.running == 0 && client.numbers.queued == 0)
    }

    @Test func `a stop with a grace time finishes running and waiting requests first`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        let calls = [
            await client.begin(servers.request("/hold")), await client.begin(servers.request("/status/204")),
        ]
        await servers.heard("arrived GET /hold")
        async let stopped: Void = onThread { client.stop(within: 30) }
        // No request is accepted while it stops.
        while await client.failure(servers.request("/status/500", within: 0.01)) != .stopped {}
        _ = try await OutgoingClient().send(servers.request("/release"))
        await stopped
        try await expect(calls[0].value.get().status, equals: 200)
        try await expect(calls[1].value.get().status, equals: 204)
    }

    private func onThread(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { done in
            QuietThread(name: nil) {
                work()
                done.resume()
            }.detach()
        }
    }
}

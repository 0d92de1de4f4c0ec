import Testing

@testable import OutgoingHTTP

/// Cancelled requests, at each stage.
@Suite struct CancellingTests {
    @Test func `one that waits is not sent, and its place is free`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1, mostQueued: 1)
        let running = await client.begin(servers.request("/hold"))
        await servers.heard("arrived GET /hold")
        let waiting = await client.begin(servers.request("/echo"))
        waiting.cancel()
        let next = await client.begin(servers.request("/status/204"))
        _ = try await OutgoingClient().send(servers.request("/release"))
        #expect(try await running.value.get().status == 200)
        #expect(try await next.value.get().status == 204)
        #expect(try await servers.count("arrived GET /echo") == 0 && client.numbers.cancelled == 1)
    }

    @Test(arguments: ["/never", "/begun", "/slow"])
    func `one that runs is broken off`(path: String) async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        let running = await client.begin(servers.request(path))
        await servers.heard("arrived GET \(path)")
        running.cancel()
        // Its place is free, and the server notices.
        #expect(try await client.send(servers.request("/status/204")).status == 204)
        await servers.heard("left \(path)")
        let numbers = client.numbers
        #expect(numbers.cancelled == 1 && numbers.answered == 1 && numbers.failed.isEmpty)
    }

    @Test func `when one that runs is cancelled, the next that waits begins`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        let running = await client.begin(servers.request("/never", within: 60))
        let next = await client.begin(servers.request("/status/204", within: 60))
        await servers.heard("arrived GET /never")
        running.cancel()
        await servers.heard("arrived GET /status/204")
        #expect(try await next.value.get().status == 204)
    }

    @Test func `one that is over is cancelled in vain`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        let task = await client.begin(servers.request("/status/204"))
        #expect(try await task.value.get().status == 204)
        task.cancel()
        #expect(try await client.send(servers.request("/status/200")).status == 200)
        #expect(client.numbers.cancelled == 0)
    }

    @Test func `a task that is cancelled stops waiting, before its call is sent and after`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        let running = Task { await client.failure(servers.request("/never")) }
        await servers.heard("arrived GET /never")
        let waiting = Task { await client.failure(servers.request("/echo")) }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        running.cancel()
        #expect(await running.value == .cancelled)
        await servers.heard("left /never")
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await client.failure(servers.request("/echo"))
        }
        #expect(await late.value == .cancelled)
        #expect(try await client.send(servers.request("/status/204")).status == 204)
        #expect(try await servers.count("arrived GET /echo") == 0)
    }
}

import Expectations
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
        try await expect(running.value.get().status, equals: 200)
        try await expect(next.value.get().status, equals: 204)
        try await expect(servers.count("arrived GET /echo") == 0 && client.numbers.cancelled == 1)
    }

    @Test(arguments: ["/never", "/begun", "/slow"])
    func `one that runs is broken off`(path: String) async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        let running = await client.begin(servers.request(path))
        await servers.heard("arrived GET \(path)")
        running.cancel()
        // Its place is free, and the server notices.
        try await expect(client.send(servers.request("/status/204")).status, equals: 204)
        await servers.heard("left \(path)")
        let numbers = client.numbers
        expect(numbers.cancelled == 1 && numbers.answered == 1 && numbers.failed.isEmpty)
    }

    @Test func `when one that runs is cancelled, the next that waits begins`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        let running = await client.begin(servers.request("/never", within: 60))
        let next = await client.begin(servers.request("/status/204", within: 60))
        await servers.heard("arrived GET /never")
        running.cancel()
        await servers.heard("arrived GET /status/204")
        try await expect(next.value.get().status, equals: 204)
    }

    @Test func `one that is over is cancelled in vain`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient()
        let task = await client.begin(servers.request("/status/204"))
        try await expect(task.value.get().status, equals: 204)
        task.cancel()
        try await expect(client.send(servers.request("/status/200")).status, equals: 200)
        expect(client.numbers.cancelled, equals: 0)
    }

    @Test func `a task that is cancelled stops waiting, before its call is sent and after`() async throws {
        let servers = try await Servers()
        let client = OutgoingClient(mostRunning: 1)
        let running = Task { await client.failure(servers.request("/never")) }
        await servers.heard("arrived GET /never")
        let waiting = Task { await client.failure(servers.request("/echo")) }
        waiting.cancel()
        await expect(waiting.value, equals: .cancelled)
        running.cancel()
        await expect(running.value, equals: .cancelled)
        await servers.heard("left /never")
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await client.failure(servers.request("/echo"))
        }
        await expect(late.value, equals: .cancelled)
        try await expect(client.send(servers.request("/status/204")).status, equals: 204)
        try await expect(servers.count("arrived GET /echo"), equals: 0)
    }
}

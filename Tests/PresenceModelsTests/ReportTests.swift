import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// Reports to the operators, and the texts of their decisions, with a server in memory.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ReportTests {
    private let stage = Stage(.online("eve", name: "Eve"))
    private var server: InMemoryServer { stage.server }

    @Test func `a message is reported once, with a copy of it`() async throws {
        server.add(conversation: "c1", of: ["ana", "eve"])
        let client = server.client(as: "eve")
        client.connect()
        for await state in client.connectionStates where state.isConnected { break }
        let eve = PresenceMessenger(client)
        let sent = try await eve.send("Buy this", in: "c1")
        for await list in eve.messages(in: "c1") where list.messages.first?.sequence != nil { break }
        let what = PresenceClient.Report(conversation: "c1", message: sent.id, reason: "spam", text: "Again")
        let id = try await stage.client.report(what)
        _ = try await eve.edit(sent, text: "harmless")
        try await expect(stage.client.report(what), equals: id)
        let report = try #require(server.reports.first)
        expect(server.reports.count == 1 && report["by"] as? String == "ana" && report["user"] as? String == "eve")
        expect((report["evidence"] as? [String: any Sendable])?["text"] as? String, equals: "Buy this")
    }

    @Test func `what cannot be seen cannot be reported`() async throws {
        server.add(conversation: "c2", of: ["bob", "eve"])
        for what in [
            PresenceClient.Report(conversation: "c2", reason: "spam"),
            PresenceClient.Report(conversation: "none", message: "m", reason: "spam"),
        ] {
            let error = await #expect(throws: PresenceError.self) { try await stage.client.report(what) }
            expect(error?.code, equals: .notFound)
        }
        let own = await #expect(throws: PresenceError.self) {
            try await stage.client.report(.init(user: "ana", reason: "spam"))
        }
        expect(own?.code == .validationFailed && own?.field == "user")
    }

    @Test func `the form sends one report, and blocks if that is wanted`() async throws {
        let form = PresenceClient.Report.Form(.init(user: "eve", reason: ""), client: stage.client)
        expect(!form.canSend)
        form.reason = "insults"
        form.text = String(repeating: "a", count: 2_001)
        form.blocksUser = true
        expect(form.text.count == 2_000 && form.canSend)
        server.fail("POST /v1/reports", with: PresenceError(.unavailable, retryAfter: .seconds(3)))
        await form.send()
        expect(form.errorMessage == "The server cannot do that at the moment." && !form.isSent && form.canSend)
        await form.send()
        expect(form.isSent && !form.canSend && form.message == "Thank you. The operators will look at it.")
        expect(server.reports.map { $0["reason"] as? String }, equals: ["insults"])
        try await expect(stage.client.visibility().blocked, equals: ["eve"])
    }

    @Test func `a refused text says why at its message`() async throws {
        server.add(conversation: "c1", of: ["ana", "eve"])
        let messages = PresenceMessenger(stage.client)
        let model = ConversationModel(conversation: "c1", user: "ana", messages: messages, typing: stage.client)
        let run = Task { await model.run() }
        defer { run.cancel() }
        server.fail("send", with: PresenceError(.refused, reason: .init(rawValue: "No advertising here.")))
        model.text = "Buy this"
        await model.send()
        await until { model.messages.first.flatMap { model.statusText(of: $0) }?.hasPrefix("Not sent") == true }
        let message = try #require(model.messages.first)
        expect(model.statusText(of: message), equals: "Not sent: This text was not accepted: No advertising here.")
        expect(PresenceError(.refused).localizedDescription, equals: "This text was not accepted.")
    }

    @Test func `a ban says why and until when, in the app's language`() {
        let until = Date(timeIntervalSince1970: 4_102_444_800)
        let error = PresenceError(.banned, reason: .init(rawValue: "Spam"), until: until)
        Sentence.Language.$ofTask.withValue(.english) {
            expect(
                error.localizedDescription,
                equals: "An administrator has banned you here until \(Sentence.time(until)): Spam")
            expect(Sentence.time(until).contains("2100"))
            expect(
                PresenceError(.banned, reason: .init(rawValue: "Spam")).localizedDescription,
                equals: "An administrator has banned you here: Spam")
            expect(PresenceError(.banned).localizedDescription, equals: "An administrator has banned you here.")
        }
        Sentence.Language.$ofTask.withValue(.german) {
            expect(error.localizedDescription.hasPrefix("Ein Administrator hat Sie hier bis "))
            expect(error.localizedDescription.hasSuffix(" gesperrt: Spam"))
        }
    }
}

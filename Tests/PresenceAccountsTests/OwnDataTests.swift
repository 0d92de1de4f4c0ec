import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceMessages
import PresenceTesting
import TestSupport
import Testing

/// The download of a user's data and the deletion of the account, with a server in memory.
@MainActor @Suite(.timeLimit(.minutes(1))) struct OwnDataTests {
    private let server = InMemoryServer()
    private let app: PresenceApp
    private let directory: TemporaryDirectory
    private var file: URL { URL(fileURLWithPath: directory.file("data.tar")) }

    init() throws {
        app = server.app(as: "ana")
        server.add(conversation: "c1", of: ["ana", "bob"])
        server.write("Hello Bob", from: "ana", in: "c1")
        server.write("Hello Ana", from: "bob", in: "c1")
        directory = try TemporaryDirectory()
    }

    private func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.path) }

    @Test func `an export replaces a file once it is whole`() async throws {
        try Data("former".utf8).write(to: file)
        let model = Account.DataModel(app.account, client: app.client)
        server.fail("GET /v1/me/export", with: PresenceError(.rateLimited, retryAfter: .seconds(3_600)))
        await model.export(to: file)
        expect(model.errorMessage == "That was too fast." && model.exported == nil)
        try expect(Data(contentsOf: file), equals: Data("former".utf8))
        await model.export(to: file)
        expect(model.exported == file && model.errorMessage == nil && !model.isExporting)
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        expect(text.hasPrefix("export.jsonl") && text.contains(#""user":"ana""#) && text.contains("Hello Bob"))
        expect(!text.contains("Hello Ana"), "others wrote it")
        try expect(files(), equals: ["data.tar"], "nothing else stays")
    }

    @Test func `an export without a network, or into a folder that is not there, leaves nothing`() async throws {
        let nowhere = URL(fileURLWithPath: directory.file("none/data.tar"))
        let failed = await #expect(throws: PresenceError.self) { try await app.client.exportData(to: nowhere) }
        expect(failed?.code, equals: .storageFailed)
        server.goOffline()
        let error = await #expect(throws: PresenceError.self) { try await app.client.exportData(to: file) }
        expect(error?.code, equals: .notConnected)
        try expect(files().isEmpty)
    }

    @Test func `an export that is cancelled writes no file`() async throws {
        let model = Account.DataModel(app.account, client: app.client)
        // From here on there is a token.
        await model.export(to: file)
        server.hold()
        let second = URL(fileURLWithPath: directory.file("second.tar"))
        let export = Task { await model.export(to: second) }
        await server.received("GET /v1/me/export", count: 2)
        model.cancelExport()
        await export.value
        expect(!model.isExporting && model.exported == nil && model.errorMessage == nil)
        try expect(files(), equals: ["data.tar"])
        server.release()
    }

    @Test func `an account is deleted with or without its messages`() async throws {
        let model = Account.DataModel(app.account, client: app.client)
        model.password = "wrong"
        model.deletesMessages = true
        await model.deleteAccount()
        expect(
            model.errorMessage == "Invalid email or password." && server.texts(in: "c1") == ["Hello Bob", "Hello Ana"])
        model.password = "correct horse"
        expect(model.errorMessage, equals: nil)
        await model.deleteAccount()
        expect(model.errorMessage == nil && model.password.isEmpty)
        expect(server.texts(in: "c1"), equals: ["", "Hello Ana"])
        await expect(app.account.currentAccount, equals: nil)

        let bob = server.app(as: "bob")
        try await bob.account.deleteAccount(password: "correct horse")
        expect(server.texts(in: "c1"), equals: ["", "Hello Ana"], "what stays, stays")
        expect(server.requests("DELETE /v1/me").map { $0["messages"] as? String }, equals: ["delete", "delete", nil])
    }

    @Test func `a repository from before there was a choice keeps messages`() async throws {
        let former = ForeignAccount()
        let error = await #expect(throws: PresenceError.self) {
            try await former.deleteAccount(password: "correct horse", messages: .delete)
        }
        expect(error?.code, equals: .notOffered)
        await #expect(throws: CocoaError.self) { try await former.deleteAccount(password: "", messages: .keep) }
    }
}

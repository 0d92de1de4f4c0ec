import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import PresenceTesting
import Testing

/// Attachments of the next message on a screen, with a server in memory.
@MainActor @Suite(.timeLimit(.minutes(1))) struct AttachmentsModelTests {
    private static let picture = AttachmentFile(Data("abcd".utf8), name: "beach.jpg")
    private static let map = AttachmentFile(Data("map".utf8), name: "map.pdf")
    private static let upload = "POST /v1/conversations/c1/attachments"
    private let scene = ModelScene()
    private let model: ConversationModel
    private var server: InMemoryServer { scene.server }

    init() async {
        await scene.connected()
        model = ConversationModel(conversation: "c1", user: "ana", messages: scene.messages, typing: scene.client)
    }

    private var files: AttachmentsModel { model.attachments }

    /// The attachments of the messages on the server.
    private func sent() async throws -> [[String]] {
        await scene.settled()
        return try await scene.messages.getMessages(in: "c1", before: nil, limit: 100).map { $0.attachments.map(\.id) }
    }

    @Test func `a file is uploaded at once, with progress, and sent with the next message`() async throws {
        server.delay = .seconds(1)
        let upload = Task { await files.attach(Self.picture) }
        await until { files.items.first?.progressText == "Uploading... 50%" }
        model.text = "The beach"
        expect(!model.canSend && files.items[0].name == "beach.jpg", "not before it is uploaded")
        await server.clock.sleepers()
        server.clock.advance(by: .seconds(1))
        await upload.value
        server.delay = nil
        // The notice of typing may have come after the advance.
        server.clock.advance(by: .seconds(1))
        expect(files.items[0].attachment?.type == .image && files.items[0].progressText == nil && model.canSend)
        await model.send()
        expect(files.items.isEmpty && model.text.isEmpty && !model.canSend)
        try await expect(sent() == [["upload-1"]] && server.texts(in: "c1") == ["The beach"])
    }

    @Test func `files are sent in the order in which they were attached, even without a text`() async throws {
        await files.attach(Self.picture)
        await files.attach(Self.map)
        expect(model.canSend && files.items.map(\.attachment?.type) == [.image, .file])
        await model.send()
        try await expect(sent(), equals: [["upload-1", "upload-2"]])
    }

    @Test func `a failed upload shows the reason, blocks the message, and can be retried`() async throws {
        await scene.goOffline()
        await files.attach(Self.map)
        let failed = try #require(files.items.first)
        expect(failed.errorMessage == "There is no connection to the server." && failed.canRetry && !model.canSend)
        await scene.goOnline()
        await files.retry(failed)
        expect(files.items.map(\.attachment?.id) == ["upload-1"] && model.canSend)
        await files.retry(files.items[0])
        expect(server.requests(Self.upload).count, equals: 1, "what is there is not sent again")
    }

    @Test func `an unusable file shows the reason, and can only be removed`() async throws {
        for code in [PresenceError.Code.tooLarge, .forbidden, .notOffered, .validationFailed] {
            server.fail(Self.upload, with: PresenceError(code, "refused by the test"))
            await files.attach(Self.map)
            expect(files.items.last?.canRetry == false && files.items.last?.errorMessage != nil)
        }
        await files.attach(AttachmentFile(Data()))
        expect(files.items.map(\.errorMessage).last == "This file cannot be used." && files.items.last?.name == "File")
        for item in files.items { files.remove(item) }
        model.text = "without"
        await model.send()
        try await expect(sent(), equals: [[]])
    }

    @Test func `a file is removed during its upload, and by a cancelled task`() async {
        server.delay = .seconds(1)
        let removed = Task { await files.attach(Self.map) }
        await until { files.items.count == 1 }
        files.remove(files.items[0])
        expect(files.items.isEmpty)
        await removed.value
        let cancelled = Task { await files.attach(Self.map) }
        await until { files.items.count == 1 }
        cancelled.cancel()
        await cancelled.value
        expect(files.items.isEmpty && files.errorMessage == nil)
    }

    @Test func `a message has at most ten files`() async {
        for _ in 1...11 { await files.attach(Self.map) }
        expect(files.items.count == 10 && files.errorMessage == "At most 10 files can be attached.")
        files.remove(files.items[0])
        expect(files.items.count == 9 && files.errorMessage == nil)
    }

    @Test func `unsent files are restored, and an edit leaves the files alone`() async throws {
        await files.attach(Self.map)
        model.text = "Map"
        await scene.writes.set(mayAppend: false)
        await model.send()
        expect(model.text == "Map" && files.items.map(\.attachment?.id) == ["upload-1"])
        expect(model.errorMessage, equals: "The change could not be kept on this device.")

        await scene.writes.set()
        let own = try await scene.messages.send(Message(conversationId: "c1", senderId: "ana", text: "old"))
        await scene.settled()
        let stored = try #require(try await scene.messages.getMessages(in: "c1", before: nil, limit: 1).first)
        expect(stored.id, equals: own.id)
        model.beginEditing(stored)
        expect(!model.canSend, "the same text")
        model.text = "new"
        await model.send()
        expect(files.items.count == 1 && model.text == "Map" && server.texts(in: "c1") == ["new"])
        await model.send()
        try await expect(sent(), equals: [[], ["upload-1"]])
    }
}

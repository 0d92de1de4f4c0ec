import Expectations
import Foundation
import PresenceKit
import PresenceMessages
import TestSupport
import Testing

/// Uploads by the messages library, at real servers.
@Suite struct AttachmentTests {
    /// The last step of an upload.
    fileprivate static func upload(
        _ file: AttachmentFile, to conversation: String, by user: PresenceMessenger
    ) async throws -> MessageAttachment? {
        var attachment: MessageAttachment?
        for try await case .saved(let uploaded) in user.upload(file, to: conversation) { attachment = uploaded }
        return attachment
    }

    fileprivate static func failure(
        _ file: AttachmentFile, to conversation: String, by user: PresenceMessenger
    ) async -> PresenceError? {
        await #expect(throws: PresenceError.self) { try await upload(file, to: conversation, by: user) }
    }

    @Suite(.sharedServer(["attachments.enabled": "true", "attachments.maxBytes": "1000000"])) struct On {
        private let server = SharedServer.current!

        @Test func `files are uploaded from memory and from the disk, and come with a message`() async throws {
            let (ana, bob) = (
                PresenceMessenger(server.client("files-ana")), PresenceMessenger(server.client("files-bob"))
            )
            let id = try await ana.directConversation(with: "files-bob").id
            let data = Data((0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let directory = try TemporaryDirectory()
            let url = URL(fileURLWithPath: directory.file("Größe 1.pdf"))
            try data.write(to: url)
            var attachments: [MessageAttachment] = []
            for file in [AttachmentFile(file: url), AttachmentFile(data, contentType: "video/mp4")] {
                attachments.append(try #require(try await AttachmentTests.upload(file, to: id, by: ana)))
            }
            expect(attachments.map(\.type) == [.file, .video] && attachments.map(\.sizeBytes) == [900_000, 900_000])
            try await ana.send("", in: id, attachments: attachments)
            let seen = Sightings(bob.messages(in: id))
            try await seen.until("the message with its files") { [attachments] in $0.last?.attachments == attachments }
            for attachment in attachments {
                let file = try #require(URL(string: attachment.url))
                try await expect(server.http("HEAD", file.path).status, equals: 200)
            }
        }

        @Test func `a file that is too large, no picture, or not for this user fails with that reason`() async throws {
            let (ana, eve) = (
                PresenceMessenger(server.client("refused-ana")), PresenceMessenger(server.client("refused-eve"))
            )
            let id = try await ana.directConversation(with: "refused-bob").id
            _ = try await eve.directConversation(with: "refused-bob")
            let directory = try TemporaryDirectory()
            let url = URL(fileURLWithPath: directory.file("large"))
            try Data(count: 8_000_000).write(to: url)
            // The server answers before it has read the file, which is still being sent.
            for _ in 1...5 {
                await expect(
                    AttachmentTests.failure(AttachmentFile(file: url), to: id, by: ana)?.code, equals: .tooLarge)
                await expect(
                    AttachmentTests.failure(AttachmentFile(Data(count: 8_000_000)), to: id, by: ana)?.code,
                    equals: .tooLarge)
                await expect(
                    AttachmentTests.failure(AttachmentFile(Data(count: 900_000)), to: id, by: eve)?.code,
                    equals: .forbidden)
            }
            let picture = await AttachmentTests.failure(
                AttachmentFile(Data("no picture".utf8), name: "a.jpg"), to: id, by: ana)
            expect(picture?.code == .validationFailed && picture?.field == "file")
            let name = await AttachmentTests.failure(AttachmentFile(Data("a".utf8), name: "a/b"), to: id, by: ana)
            expect(name?.code == .validationFailed && name?.field == "name")
        }

        @Test func `several at once are sent one after the other`() async throws {
            let ana = PresenceMessenger(server.client("several-ana"))
            let id = try await ana.directConversation(with: "several-bob").id
            let uploaded = try await withThrowingTaskGroup(of: MessageAttachment?.self) { group in
                for _ in 1...8 {
                    group.addTask {
                        try await AttachmentTests.upload(AttachmentFile(Data(count: 200_000)), to: id, by: ana)
                    }
                }
                return try await group.reduce(into: Set<String>()) { if let id = $1?.id { $0.insert(id) } }
            }
            expect(uploaded.count, equals: 8)
        }
    }

    @Suite(.sharedServer(["attachments.enabled": "true", "attachments.perUserPerHour": "2"])) struct Few {
        @Test func `a user at the upload limit gets the time to wait`() async throws {
            let ana = PresenceMessenger(SharedServer.current!.client("few-ana"))
            let id = try await ana.directConversation(with: "few-bob").id
            var error: PresenceError?
            // Each shard counts separately, and each upload may reach another one.
            for _ in 1...1_000 where error == nil {
                do {
                    _ = try await AttachmentTests.upload(AttachmentFile(Data("a".utf8)), to: id, by: ana)
                } catch let refusal as PresenceError {
                    error = refusal
                }
            }
            expect(error?.code == .rateLimited && (error?.retryAfter ?? .zero) > .zero)
        }
    }

    @Suite(.sharedServer([:])) struct Off {
        @Test func `a server without attachments reports that`() async throws {
            let ana = PresenceMessenger(SharedServer.current!.client("off-ana"))
            let id = try await ana.directConversation(with: "off-bob").id
            await expect(
                AttachmentTests.failure(AttachmentFile(Data("a".utf8)), to: id, by: ana)?.code, equals: .notOffered)
        }
    }
}

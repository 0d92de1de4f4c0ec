import Expectations
import Foundation
import PresenceAccounts
import PresenceKit
import PresenceTesting
import Testing

/// REQUIREMENTS 001: the upload of a picture.
@MainActor @Suite(.timeLimit(.minutes(1))) struct PhotoModelTests {
    private static let picture = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2])
    private static let upload = "PUT /v1/me/photo"
    private let server = InMemoryServer()
    private let account: PresenceAccount

    init() { account = server.app(as: "ana").account }

    @Test func `progress is shown in per cent, and the picture at the end`() async {
        let model = PhotoModel(photos: account)
        _ = try? await account.accessToken()
        server.delay = .seconds(1)
        let upload = Task { await model.upload(Self.picture) }
        await until { model.progressText == "Uploading... 50%" }
        expect(model.isUploading && !model.canRetry)
        await server.clock.sleepers()
        server.clock.advance(by: .seconds(1))
        await upload.value
        expect(model.photo?.url.absoluteString == "https://example.org/photo-1.jpg" && model.progressText == nil)
        expect(model.photo?.thumbnailURL != nil && model.errorMessage == nil)
    }

    @Test func `a failed upload is told, and a retry sends the same picture`() async {
        let model = PhotoModel(photos: account)
        server.fail(Self.upload, with: PresenceError(.unavailable))
        await model.upload(Self.picture)
        expect(model.errorMessage == "Failed to upload image" && model.canRetry && !model.isUploading)
        await model.retry()
        expect(model.photo != nil && model.errorMessage == nil && !model.canRetry)
        expect(server.requests(Self.upload).count == 2 && server.uploads == [Self.picture])
    }

    @Test func `what cannot be used is told, and not tried again`() async {
        let model = PhotoModel(photos: account)
        await model.upload(Self.picture + Data(count: 5 << 20))
        expect(model.errorMessage == "Image is too large. Maximum size is 5MB." && !model.canRetry)
        await model.upload(Data("no picture".utf8))
        expect(model.errorMessage == "Failed to process image" && !model.canRetry && server.uploads.isEmpty)
        server.fail(
            Self.upload, with: PresenceError(.validationFailed, reason: .photoNotAnImage))
        await model.upload(Self.picture)
        expect(model.errorMessage == "Failed to process image" && !model.canRetry)
    }

    @Test func `a cancelled upload leaves everything unchanged`() async {
        let model = PhotoModel(photos: account)
        _ = try? await account.accessToken()
        server.delay = .seconds(1)
        let upload = Task { await model.upload(Self.picture) }
        await server.clock.sleepers()
        model.cancel()
        expect(!model.isUploading && model.progress == 0)
        await upload.value
        expect(model.photo == nil && model.errorMessage == nil && !model.canRetry)
    }

    @Test func `a second picture replaces an upload in progress`() async {
        let model = PhotoModel(photos: account)
        _ = try? await account.accessToken()
        server.delay = .seconds(1)
        let first = Task { await model.upload(Self.picture) }
        await server.clock.sleepers()
        server.delay = nil
        await model.upload(Self.picture)
        server.clock.advance(by: .seconds(1))
        await first.value
        expect(model.photo?.url.absoluteString == "https://example.org/photo-1.jpg" && !model.isUploading)
    }

    @Test func `a picture is removed, and a removal that fails is tried again`() async {
        let model = PhotoModel(photos: account)
        await model.upload(Self.picture)
        server.goOffline()
        await model.remove()
        expect(model.errorMessage == "Failed to remove image" && model.canRetry && model.photo != nil)
        server.goOnline()
        await model.retry()
        expect(model.photo == nil && !model.canRetry && model.errorMessage == nil)
    }
}

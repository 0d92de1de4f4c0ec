import Foundation
import PresenceKit

// The user's own picture.
extension PresenceAccount {
    /// At most 5 MiB, JPEG or PNG according to its first bytes. The server scales it to at most 2,048 pixels a side and
    /// removes its metadata.
    ///
    /// For an unusable picture the stream throws `validationFailed` with the field `photo` and the reason
    /// `photoTooLarge` or `photoNotAnImage`, and another ``PresenceError`` otherwise.
    public nonisolated func uploadPhoto(_ picture: Data) -> AsyncThrowingStream<Upload<Photo>, any Error> {
        AsyncThrowingStream { elements in
            do {
                let photo = try await self.upload(picture) { sent in
                    elements.yield(.progress(min(1, Double(sent) / Double(picture.count))))
                }
                elements.yield(.saved(photo))
            } catch let error as PresenceError where error.reason == .photoTooLarge || error.reason == .photoNotAnImage
            {
                throw error.invalidating("photo")
            }
        }
    }

    private func upload(_ picture: Data, progress: @escaping @Sendable (Int) -> Void) async throws -> Photo {
        let type = try Photo.Rule.checkedType(of: picture)
        var request = AccountServer.Request("PUT", "v1/me/photo")
        request.body = picture
        request.contentType = type
        request.timeout = configuration.uploadTimeout
        let body = try await authorized(request, progress: progress).body
        let answer = try AccountServer.decode(Answer.Photo.self, from: body, of: request)
        guard let url = URL(string: answer.photoURL) else {
            throw PresenceError.account(.notAnAnswer, "Failed to get valid download URL", outcomeUnknown: true)
        }
        return Photo(url: url, thumbnailURL: answer.thumbnailURL.flatMap { URL(string: $0) })
    }

    public func removePhoto() async throws {
        _ = try await authorized(.init("DELETE", "v1/me/photo", isRepeatable: true))
    }
}

extension Photo.Rule {
    /// The media type of a picture that can be uploaded.
    ///
    /// - Throws: the server's error for any other.
    package static func checkedType(of picture: Data) throws -> String {
        guard picture.count <= maximumBytes else {
            throw PresenceError.account(.tooLarge, "\(picture.count) bytes", reason: .photoTooLarge)
        }
        guard let type = mediaType(of: picture) else {
            throw PresenceError.account(.validationFailed, "neither JPEG nor PNG", reason: .photoNotAnImage)
        }
        return type
    }
}

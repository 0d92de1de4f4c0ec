import Foundation
import Observation

/// The user's own picture in a form: upload with progress, cancellation and retry.
@MainActor @Observable
public final class PhotoModel {
    /// The picture uploaded last by this model; `nil` before, and after a removal.
    public private(set) var photo: Photo?
    /// Whether an upload is in progress; see ``progress``.
    public private(set) var isUploading = false
    /// The fraction that was sent, from 0 to 1.
    public private(set) var progress = 0.0
    /// Why the last upload or removal failed, as a text for users.
    public private(set) var errorMessage: String?

    /// Called after an upload and a removal.
    @ObservationIgnored var onChange: (@MainActor (Photo?) -> Void)?
    private let photos: any ProfileRepository
    /// The failed attempt, for ``retry()``.
    private var failed: Attempt?
    private var uploading: Task<Void, Never>?
    /// Increases with each attempt; results of earlier attempts are ignored.
    private var number = 0

    private enum Attempt {
        case upload(Data)
        case remove
    }

    /// Creates a model that uses the given repository.
    public init(photos: any ProfileRepository) {
        self.photos = photos
    }

    /// A text such as `Uploading... 47%`; `nil` if there is no upload.
    public var progressText: String? { isUploading ? Sentence.uploading.text(Int(progress * 100)) : nil }
    /// Whether ``retry()`` has an attempt to repeat.
    public var canRetry: Bool { failed != nil && !isUploading }

    /// Uploads a picture: JPEG or PNG, at most 5 MiB. Replaces an upload in progress.
    public func upload(_ picture: Data) async {
        cancel()
        if let fault = Photo.Rule.fault(in: picture) { return errorMessage = fault }
        isUploading = true
        let task = Task { [number] in await send(picture, number) }
        uploading = task
        _ = await task.resultForCaller
    }

    private func send(_ picture: Data, _ number: Int) async {
        var result: Result<Photo, any Error>?
        do {
            for try await step in photos.uploadPhoto(picture) {
                guard number == self.number else { return }
                switch step {
                case .progress(let part): progress = max(progress, part)
                case .saved(let photo): result = .success(photo)
                }
            }
        } catch {
            result = .failure(error)
        }
        guard number == self.number else { return }
        isUploading = false
        switch result {
        case .success(let photo):
            self.photo = photo
            onChange?(photo)
        case .failure(is CancellationError), nil: progress = 0
        case .failure(let error as PresenceError) where error.code == .validationFailed && error.field == "photo":
            errorMessage = error.localizedDescription
        case .failure:
            failed = .upload(picture)
            errorMessage = Sentence.uploadFailed.text()
        }
    }

    /// Cancels an upload; the former picture stays. Also discards a failed attempt.
    public func cancel() {
        number += 1
        uploading?.cancel()
        (uploading, failed, errorMessage) = (nil, nil, nil)
        (isUploading, progress) = (false, 0)
    }

    /// Removes the picture.
    public func remove() async {
        cancel()
        let number = number
        do {
            try await photos.removePhoto()
            guard number == self.number else { return }
            photo = nil
            onChange?(nil)
        } catch is CancellationError {
        } catch {
            guard number == self.number else { return }
            failed = .remove
            errorMessage = Sentence.removalFailed.text()
        }
    }

    /// Repeats the failed attempt.
    public func retry() async {
        switch failed {
        case .upload(let picture): await upload(picture)
        case .remove: await remove()
        case nil: break
        }
    }
}

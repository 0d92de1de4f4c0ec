import Foundation
import Observation
import PresenceDomain

/// The own picture in a form: its upload, with progress, cancelling and retry.
@MainActor @Observable
public final class PhotoModel {
    /// The picture that was uploaded here last; `nil` before, and after it was removed.
    public private(set) var photo: Photo?
    /// Whether a picture is on its way: ``progress`` says how far.
    public private(set) var isUploading = false
    /// How much was sent, from 0 to 1.
    public private(set) var progress = 0.0
    /// Why the last upload or removal failed, for people.
    public private(set) var errorMessage: String?

    /// Called after an upload and a removal.
    @ObservationIgnored var onChange: (@MainActor (Photo?) -> Void)?
    private let photos: any PhotoRepository
    /// What failed, to be tried again.
    private var failed: Attempt?
    private var uploading: Task<Void, Never>?
    /// Grows with each attempt; what an earlier one still says is dropped.
    private var number = 0

    private enum Attempt {
        case upload(Data)
        case remove
    }

    /// Makes a model of where the own user's picture is stored.
    public init(photos: any PhotoRepository) {
        self.photos = photos
    }

    /// Such as `Uploading... 47%`; `nil` while nothing is uploaded.
    public var progressText: String? { isUploading ? "Uploading... \(Int(progress * 100))%" : nil }
    /// Whether ``retry()`` has something to try again.
    public var canRetry: Bool { failed != nil && !isUploading }

    /// Uploads a picture: JPEG or PNG, at most 5 MiB. It takes the place of one that is being uploaded.
    public func upload(_ picture: Data) async {
        cancel()
        if let fault = PhotoRule.fault(in: picture) { return errorMessage = fault }
        isUploading = true
        let task = Task { [number] in await send(picture, number) }
        uploading = task
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
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
        case .failure(UserError.invalid(_, let reason)): errorMessage = reason
        case .failure:
            failed = .upload(picture)
            errorMessage = "Failed to upload image"
        }
    }

    /// Ends an upload; the former picture stays. What was tried before is forgotten.
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
            errorMessage = "Failed to remove image"
        }
    }

    /// Tries again what failed.
    public func retry() async {
        switch failed {
        case .upload(let picture): await upload(picture)
        case .remove: await remove()
        case nil: break
        }
    }
}

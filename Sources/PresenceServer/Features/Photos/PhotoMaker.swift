import CPhotos
import Glibc
import PresenceCore
import PresenceProtocol

/// Makes pictures from uploads, in a separate process (`CPhotos`).
enum PhotoMaker {
    /// Half of the cores, because one thread per core would starve the loops.
    static let pool = WorkerPlan(
        "photos", threads: { _ in max(1, WorkerPlan.cores / 2) }, queue: { _ in 16 }, hasLowPriority: true)
    /// In ms of real time. The process may use 10 s of a core, which other work may share.
    private static let longest: Int32 = 30_000
    private static let executable = "/proc/self/exe"

    /// The outcome for an upload, and the core time used, in ms.
    struct Work: Sendable {
        let outcome: Outcome
        let used: Int
    }

    enum Outcome: Sendable {
        case made(photo: [UInt8], thumbnail: [UInt8])
        case notAnImage
        /// The signal that ended the process. SIGKILL comes from this server after `longest`, or from a kernel without memory,
        /// and does not mean that the picture is bad. Any other signal means a forbidden system call or too much core time.
        case killed(Int32)
        case failed(String)
    }

    /// Makes the picture and its thumbnail. Blocks.
    static func make(_ file: UploadedFile) -> Work {
        let most = photo_most_bytes
        var result = photo_result()
        let head = 8
        let bytes = [UInt8](unsafeUninitializedCapacity: head + 2 * most) { room, count in
            // The process gets the file's descriptor; the buffer is used only within the call.
            result = file.withDescriptor { photo_make(executable, $0, longest, room.baseAddress!) }
            count = result.outcome == photo_done ? head + result.picture + result.thumbnail : 0
        }
        return Work(outcome: outcome(of: result, bytes, head), used: Int(result.cpu_milliseconds))
    }

    private static func outcome(of result: photo_result, _ bytes: [UInt8], _ head: Int) -> Outcome {
        switch result.outcome {
        case photo_done:
            .made(
                photo: Array(bytes[head..<head + result.picture]), thumbnail: Array(bytes[(head + result.picture)...]))
        case photo_not_an_image: .notAnImage
        case photo_killed: .killed(result.signal)
        default: .failed("the process that decodes pictures could not be started")
        }
    }

    // MARK: Making the picture of a call

    /// The metrics of a feature that uses pictures.
    struct Counts {
        let refused: MetricCounter
        let killed: MetricCounter
    }

    /// Makes the picture and the thumbnail of an upload.
    ///
    /// - Parameter refusal: Thrown if the upload is not a picture, or one that must not be decoded.
    static func make(
        _ file: UploadedFile, for call: HTTPCall, counting counts: Counts, refusal: Refusal
    ) async throws(Refusal) -> [StoredPart] {
        switch try await decode(file, for: call, refusal) {
        case .made(let photo, let thumbnail):
            return [
                StoredPart(kind: .picture, content: .bytes(photo)),
                StoredPart(kind: .thumbnail, content: .bytes(thumbnail)),
            ]
        case .notAnImage:
            counts.refused.value += 1
            throw refusal
        case .killed(let signal):
            counts.killed.value += 1
            call.shard.logSparsely("decoding a picture was ended", ["signal": "\(signal)"], level: .warning)
            guard signal == SIGKILL else { throw refusal }
            throw Refusal(.unavailable, "the picture was not decoded in time", retryAfter: 60_000)
        case .failed(let reason):
            call.shard.logSparsely("picture not made", ["reason": reason], level: .error)
            throw .noPlace
        }
    }

    private static func decode(
        _ file: UploadedFile, for call: HTTPCall, _ refusal: Refusal
    ) async throws(Refusal) -> Outcome {
        let shard = call.shard
        guard let user = call.viewer, let turns = shard.feature(Photos.self)?.turns else { throw refusal }
        let turn: DecodingTurns.Turn
        switch turns.begin(user, from: call.address, at: shard.clock.now) {
        case .success(let begun): turn = begun
        case .failure(let wait):
            shard.metrics.met(.decoding)
            throw Refusal(
                .rateLimited,
                "this user or address has used up its time for decoding pictures: nothing was done",
                retryAfter: wait.milliseconds)
        }
        var used = 0
        defer { turns.end(turn, used: used, at: shard.clock.now) }
        // The work is not tied to the connection, so that a client that disconnects is charged for it nevertheless.
        let work = try await shard.work(pool) { make(file) }
        used = work.used
        return work.outcome
    }
}

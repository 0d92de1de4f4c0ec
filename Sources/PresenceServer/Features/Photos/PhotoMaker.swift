import CPhotos
import Glibc
import PresenceCore
import PresenceProtocol

/// Makes a picture of what was uploaded, in a process of its own (`CPhotos`).
enum PhotoMaker {
    /// One a core would leave nothing for the loops.
    static let pool = WorkerPlan(
        "photos", threads: { _ in max(1, WorkerPlan.cores / 2) }, queue: { _ in 16 }, hasLowPriority: true)
    /// In ms. The process may use 10 s of a core, which may be busy.
    private static let longest: Int32 = 30_000
    private static let executable = "/proc/self/exe"

    /// What became of an upload, and what that took of a core, in ms.
    struct Work: Sendable {
        let outcome: Outcome
        let used: Int
    }

    enum Outcome: Sendable {
        case made(photo: [UInt8], thumbnail: [UInt8])
        case notAnImage
        /// By which signal the process ended. SIGKILL, of this server after `longest` or of a kernel that lacks memory, says nothing
        /// of the picture. By any other the process has done what it may not, or used too much of a core.
        case killed(Int32)
        case failed(String)
    }

    /// Makes the picture and its thumbnail. Blocks.
    static func make(_ file: UploadedFile) -> Work {
        let most = photo_most_bytes
        var result = photo_result()
        let head = 8
        let bytes = [UInt8](unsafeUninitializedCapacity: head + 2 * most) { room, count in
            // The process has the file's own descriptor, and the room is used within the call only.
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
        default: .failed("the process that decodes pictures could not be run")
        }
    }

    // MARK: For a call

    /// What a feature counts of it.
    struct Counts {
        let refused: MetricCounter
        let killed: MetricCounter
    }

    /// Has the picture and its thumbnail made of an upload.
    ///
    /// - Parameter refusal: Says that it is no picture, or one that must not be decoded.
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
                "decoding pictures of this user, or from this address, has taken too long: nothing was done",
                retryAfter: wait.milliseconds)
        }
        var used = 0
        defer { turns.end(turn, used: used, at: shard.clock.now) }
        // Not for its connection: a client that hangs up has used what it has used.
        let work = try await shard.work(pool) { make(file) }
        used = work.used
        return work.outcome
    }
}

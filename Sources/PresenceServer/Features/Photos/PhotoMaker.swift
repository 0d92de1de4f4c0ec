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

    enum Outcome: Sendable {
        case made(photo: [UInt8], thumbnail: [UInt8])
        case notAnImage
        /// By which signal the process ended. SIGKILL, of this server after `longest` or of a kernel that lacks memory, says nothing
        /// of the picture. By any other the process has done what it may not, or used too much of a core.
        case killed(Int32)
        case failed(String)
    }

    /// Makes the picture and its thumbnail. Blocks.
    static func make(_ file: UploadedFile) -> Outcome {
        let most = photo_most_bytes
        var result = photo_result()
        let head = 8
        let bytes = [UInt8](unsafeUninitializedCapacity: head + 2 * most) { room, count in
            // The process has the file's own descriptor, and the room is used within the call only.
            result = file.withDescriptor { photo_make(executable, $0, longest, room.baseAddress!) }
            count = result.outcome == photo_done ? head + result.picture + result.thumbnail : 0
        }
        switch result.outcome {
        case photo_done:
            return .made(
                photo: Array(bytes[head..<head + result.picture]), thumbnail: Array(bytes[(head + result.picture)...]))
        case photo_not_an_image: return .notAnImage
        case photo_killed: return .killed(result.signal)
        default: return .failed("the process that decodes pictures could not be run")
        }
    }

    // MARK: For a call

    /// What a feature counts of it.
    struct Counts {
        let refused: MetricCounter
        let killed: MetricCounter
    }

    /// Has the picture and its thumbnail made of an upload, and goes on with both; or answers the call.
    ///
    /// - Parameter refuse: Answers that it is no picture, or one that must not be decoded.
    static func make(
        _ file: UploadedFile, for call: HTTPCall, counting counts: Counts, refuse: @escaping (HTTPCall) -> Void,
        then: @escaping ([StoredPart]) -> Void
    ) {
        call.work(pool) {
            make(file)
        } then: { outcome in
            switch outcome {
            case .made(let photo, let thumbnail):
                then([
                    StoredPart(kind: .picture, content: .bytes(photo)),
                    StoredPart(kind: .thumbnail, content: .bytes(thumbnail)),
                ])
            case .notAnImage:
                counts.refused.value += 1
                refuse(call)
            case .killed(let signal):
                counts.killed.value += 1
                call.shard.logSparsely("decoding a picture was ended", ["signal": "\(signal)"], level: .warning)
                if signal == SIGKILL { refuseForNow(call, "the picture was not decoded in time") } else { refuse(call) }
            case .failed(let reason):
                call.shard.logSparsely("picture not made", ["reason": reason], level: .error)
                refuseForNow(call)
            }
        }
    }

    static func refuseForNow(_ call: HTTPCall, _ message: String = "the server has no place for this now") {
        call.refuse(503, .init(code: .unavailable, message: message, retryAfter: 60_000))
    }
}

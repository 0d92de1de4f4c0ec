import PresenceProtocol
import WebSockets

@testable import PresenceCore
@testable import PresenceServer

/// A poll's picture: an upload into a file, and responses from files and pages.
///
///     PUT /v1/polls/{id}/picture     a JPEG of up to 8 MiB, one a second for each user; 201
///     GET /v1/polls/{id}/picture     the picture
///     GET /v1/polls/{id}/print       a print of 2 MiB, fetched 512 KiB at a time, as from storage elsewhere
///     PUT /v1/polls/{id}/motto       up to 100 bytes, collected; 200
///     GET /v1/polls/{id}/page        a page for everyone, without a token
final class Pictures {
    static let most = 8 * 1024 * 1024
    private unowned let shard: ShardLogic
    private var uploads: MetricCounter!

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        uploads = registry.counter("poll_pictures_total", help: "pictures of polls")
        registry.upload(
            "PUT", "/v1/polls/{id}/picture",
            limits: RouteLimits(bodyBytes: Self.most, price: 10, rate: RateLimit(every: 1_000, burst: 100)),
            answer: { [unowned self] (call, file) async throws(Refusal) in
                guard call.request.headers["content-type"] == "image/jpeg" else {
                    throw Refusal(.badRequest, "a picture is an image/jpeg", status: 415)
                }
                let path = path(of: call.ids[0])
                let result = try await call.work(.files) {
                    Result { () throws(FileFailure) in try file.store(at: path, replacing: true) }
                }
                guard case .success = result else { throw Refusal(.internal, "the picture could not be kept") }
                uploads.value += 1
                return .json(201, #"{"bytes":\#(file.size)}"#)
            })
        for method in ["GET", "HEAD"] {
            registry.route(method, "/v1/polls/{id}/picture", for: .users) { [unowned self] call in
                call.serve(
                    file: path(of: call.ids[0]),
                    as: HTTPContent(type: "image/jpeg", cacheControl: "private, max-age=60"))
            }
            registry.route(method, "/v1/polls/{id}/print", for: .users) { call in
                call.serve(
                    length: Self.print.count, fetching: 512 * 1024,
                    as: HTTPContent(type: "image/png", cacheControl: "private, max-age=60", tag: "1"), from: .files
                ) { part -> Result<[UInt8]?, FileFailure> in
                    .success(Array(Self.print[part]))
                } failed: { _ in
                }
            }
        }
        registry.route("PUT", "/v1/polls/{id}/motto", for: .users, limits: RouteLimits(bodyBytes: 100)) { call in
            call.respond(.json(200, #"{"bytes":\#(call.body.count)}"#))
        }
        registry.route("GET", "/v1/polls/{id}/page", for: .everyone) { call in
            call.serve(
                Self.page,
                as: HTTPContent(type: "text/html; charset=utf-8", cacheControl: "public, max-age=60", tag: "1"))
        }
    }

    static let print = (0..<2 * 1024 * 1024).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 11) }

    static let page = Array(
        ("<!doctype html><title>Lunch</title>" + String(repeating: "<p>Soup.</p>", count: 500)).utf8)

    /// The poll's id may contain any character, so the path has it encoded.
    private func path(of poll: Identifier) -> String {
        shard.configuration.dataPath + "/poll-" + poll.string.utf8.map { String($0, radix: 16) }.joined(separator: "-")
    }
}

import WebSockets
import Workers

/// Gives a part of a content piece by piece, each when the client has taken the one before: first what is in memory already,
/// then what is fetched, which may be several pieces at a time.
// @unchecked: confined to the shard's thread, as its connection is.
final class ContentSource: BodySource, @unchecked Sendable {
    /// In bytes: what a client that reads slowly holds of an answer. The kernel's own buffer for a connection has twice as much.
    static let piece = 64 * 1024

    /// Fetches a part, all of it, and hands it over on the loop, never within the call; `nil` if it cannot be had.
    typealias Fetch = (Range<Int>, @escaping ([UInt8]?) -> Void) -> Void

    private let jobs: Jobs
    private let socket: SocketID
    private let fetchSize: Int
    private var fetch: Fetch?
    private var slot: Transfers.Slot?
    private var fetched: ArraySlice<UInt8>
    /// What is not fetched yet.
    private var rest: Range<Int>

    var length: Int { fetched.count + rest.count }

    /// - Parameter fetchSize: The most bytes that are fetched at once.
    init(
        _ fetched: ArraySlice<UInt8>, _ rest: Range<Int>, _ slot: Transfers.Slot?, _ jobs: Jobs, _ socket: SocketID,
        fetchSize: Int = piece, fetch: Fetch? = nil
    ) {
        self.fetched = fetched
        self.rest = rest
        self.slot = slot
        self.jobs = jobs
        self.socket = socket
        self.fetchSize = fetchSize
        self.fetch = fetch
    }

    func read(_ then: @escaping ([UInt8]?) -> Void) {
        guard fetched.isEmpty else { return giveLater(then) }
        guard let fetch else { return then(nil) }
        let next = rest.prefix(fetchSize)
        fetch(next) { [self] bytes in
            // What has become shorter, or was removed, has not what was announced.
            guard let bytes, bytes.count == next.count else { return then(nil) }
            rest = next.upperBound..<rest.upperBound
            fetched = bytes[...]
            then(take())
        }
    }

    private func giveLater(_ then: @escaping ([UInt8]?) -> Void) {
        do throws(WorkRefusal) {
            // There is nothing to do, but the piece must not come within the call.
            try jobs.run(in: .files, for: socket) {
            } then: { [self] outcome in
                if case .success = outcome { then(take()) } else { then(nil) }
            }
        } catch {
            then(nil)
        }
    }

    private func take() -> [UInt8] {
        let piece = Array(fetched.prefix(Self.piece))
        slot?.move(piece.count)
        // (An empty slice would keep the whole array.)
        fetched = piece.count < fetched.count ? fetched.dropFirst(piece.count) : []
        return piece
    }

    func close() {
        fetch = nil
        fetched = []
        slot = nil
    }
}

/// The length of a body that a HEAD request does not get.
final class AnnouncedBody: BodySource {
    let length: Int
    init(length: Int) { self.length = length }
    func read(_ then: @escaping ([UInt8]?) -> Void) { then(nil) }
    func close() {}
}

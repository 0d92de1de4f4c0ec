import WebSockets
import Workers

/// Supplies a part of a content piece by piece, each piece when the client has taken the one before: first the bytes in
/// memory, then fetched bytes. A fetch may return several pieces.
// @unchecked: confined to the shard's thread, as its connection is.
final class ContentSource: BodySource, @unchecked Sendable {
    /// In bytes: the memory for a response to a slow client. The kernel's own buffer for a connection is twice as large.
    static let piece = 64 * 1024

    /// Fetches a complete part, and passes it on, on the loop and never during the call; `nil` if it is unavailable.
    typealias Fetch = (Range<Int>, @escaping ([UInt8]?) -> Void) -> Void

    private let jobs: Jobs
    private let socket: SocketID
    private let fetchSize: Int
    private var fetch: Fetch?
    private var slot: Transfers.Slot?
    private var fetched: ArraySlice<UInt8>
    /// The part that is not fetched yet.
    private var rest: Range<Int>

    var length: Int { fetched.count + rest.count }

    /// - Parameter fetchSize: The most bytes to fetch at once.
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
        guard fetched.isEmpty else { return passLater(then) }
        guard let fetch else { return then(nil) }
        let next = rest.prefix(fetchSize)
        fetch(next) { [self] bytes in
            // The content was shortened or removed, and lacks announced bytes.
            guard let bytes, bytes.count == next.count else { return then(nil) }
            rest = next.upperBound..<rest.upperBound
            fetched = bytes[...]
            then(take())
        }
    }

    private func passLater(_ then: @escaping ([UInt8]?) -> Void) {
        do throws(WorkRefusal) {
            // An empty job, since the piece must not be passed on during the call.
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
        // (An empty slice would retain the whole array.)
        fetched = piece.count < fetched.count ? fetched.dropFirst(piece.count) : []
        return piece
    }

    func close() {
        fetch = nil
        fetched = []
        slot = nil
    }
}

/// The length of a body that is not sent, for HEAD.
final class AnnouncedBody: BodySource {
    let length: Int
    init(length: Int) { self.length = length }
    func read(_ then: @escaping ([UInt8]?) -> Void) { then(nil) }
    func close() {}
}

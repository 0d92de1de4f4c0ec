import CHiredis
import EventLoops

/// A dialler's reports to its link's user.
protocol DiallerDelegate: AnyObject {
    /// A new attempt begins.
    func diallerDidStart()
    /// A socket is connected: send the greeting on it, then call `succeeded()` or `drop(isRefusal:)`.
    func diallerDidOpen(_ link: Link)
    /// Bytes have arrived on the link.
    func diallerDidRead(_ link: Link)
    /// The link, or an attempt, ended without `drop` or `stop`. The next attempt follows automatically.
    func diallerDidEnd(reason: String)
}

/// Keeps one link to Redis connected.
///
///     idle ─start─▶ waiting ─▶ connecting ─▶ greeting ─succeeded─▶ up
///                      ▲            │            │                 │
///                      └────────────┴── failed, timed out ─────────┘
///
/// An attempt has `connectTimeout` for everything up to `succeeded`, including finding the server. Further addresses of
/// a name are tried immediately, a new attempt after a wait (`RedisOptions.firstRetry` and the following). The waits
/// start over after a link has been up for as long as the longest of them, so a server that accepts connections and
/// immediately fails is not tried 20 times a second. The delegate is not called from within `start`, `drop` and `stop`,
/// and not after `stop`.
///
/// Confined to the loop's thread.
final class Dialler {
    private let loop: EventLoop
    private let destination: Destination
    /// The server of this attempt, or of the last one.
    private(set) var endpoint: RedisEndpoint?
    private let options: RedisOptions
    weak var delegate: (any DiallerDelegate)?

    private enum Phase { case idle, waiting, connecting, greeting, up }
    private var phase = Phase.idle

    private var link: Link?
    private var lookup: (host: String, lookup: HostLookup)?
    /// Addresses of the host that this attempt has not tried yet.
    private var untried: ArraySlice<String> = []
    private var failures = 0
    /// When the link came up, on the loop's clock; `nil` without a link.
    private var upSince: Int64?
    /// Grows with every attempt, so that an answer to an earlier attempt's question is recognised.
    private var attempts = 0

    /// The address being dialled, for messages; without a password.
    var place: String {
        if let endpoint { return endpoint.description }
        if case .sought(let source) = destination { return source.name }
        return "Redis"
    }

    /// Fires at the end of the wait, or of the attempt.
    private lazy var timer = LoopTimer(loop) { [unowned self] in
        if phase == .waiting { attempt() } else { end(lateness) }
    }

    init(to destination: Destination, on loop: EventLoop, options: RedisOptions) {
        self.destination = destination
        if case .fixed(let endpoint) = destination { self.endpoint = endpoint }
        self.loop = loop
        self.options = options
    }

    /// Begins with the first attempt, in the next turn. Does nothing if already begun.
    func start() {
        guard phase == .idle else { return }
        phase = .waiting
        timer.set(after: 0)
    }

    /// Closes the link and ends all attempts.
    func stop() {
        phase = .idle
        closeLink()
        timer.cancel()
    }

    /// The link is ready for use.
    func succeeded() {
        phase = .up
        upSince = loop.now
        untried = []
        timer.cancel()
    }

    /// Drops the link or the attempt. `isRefusal`: the server rejects the client, so the next attempt waits longer.
    ///
    /// - Returns: whether there was a link or an attempt.
    @discardableResult
    func drop(isRefusal: Bool = false) -> Bool {
        guard phase != .idle, phase != .waiting else { return false }
        phase = .waiting
        if let upSince, loop.now - upSince >= options.slowestRetry { failures = 0 }
        upSince = nil
        closeLink()
        timer.set(after: isRefusal ? options.refusedRetry : nextWait())
        return true
    }

    private func end(_ reason: String) {
        if drop() { delegate?.diallerDidEnd(reason: reason) }
    }

    /// A random time from the upper half of 50, 100, 200 … 1,000 ms.
    private func nextWait() -> Int64 {
        let longest = min(options.slowestRetry, options.firstRetry << min(failures, 20))
        failures += 1
        return Int64.random(in: longest / 2...longest)
    }

    private func closeLink() {
        link?.close()
        link = nil
        untried = []
    }

    // MARK: - One attempt

    private func attempt() {
        phase = .connecting
        timer.set(after: options.connectTimeout)
        delegate?.diallerDidStart()
        guard phase == .connecting else { return }
        attempts += 1
        switch destination {
        case .fixed(let endpoint): connect(to: endpoint)
        case .sought(let source):
            endpoint = nil
            source.find(for: self) { [weak self, attempts] found in
                guard let self, phase == .connecting, self.attempts == attempts, endpoint == nil else { return }
                endpoint = found
                connect(to: found)
            }
        }
    }

    private var lateness: String {
        if endpoint == nil, case .sought(let source) = destination, let trouble = source.trouble { return trouble }
        if link?.isShakingHands == true { return TLSSession.lateness(options.connectTimeout) }
        return "not ready within \(options.connectTimeout) ms"
    }

    private func connect(to endpoint: RedisEndpoint) {
        switch endpoint.address {
        case .unix(let path):
            open(redisConnectUnixNonBlock(path))
        case .tcp(let host, _) where HostLookup.isNumeric(host):
            untried = [host]
            openNext()
        case .tcp(let host, _):
            resolve(host)
        }
    }

    private func resolve(_ host: String) {
        // A lookup that still runs from an earlier attempt is not repeated: its answer serves this attempt.
        guard lookup?.host != host else { return }
        let started = HostLookup(host, on: loop) { [weak self] result in
            guard let self, lookup?.host == host else { return }
            lookup = nil
            guard phase == .connecting else { return }
            switch result {
            case .success(let addresses):
                untried = addresses[...]
                openNext()
            case .failure(let failure):
                end(failure.reason)
            }
        }
        lookup = (host, started)
    }

    private func openNext() {
        guard case .tcp(_, let port) = endpoint?.address, let address = untried.popFirst() else { return }
        open(redisConnectNonBlock(address, CInt(port)))
    }

    /// Takes over a context of hiredis: connecting, connected or failed.
    private func open(_ context: UnsafeMutablePointer<redisContext>?) {
        guard let context else { return end("out of memory") }
        guard context.pointee.err == 0 else {
            let reason = context.errorText
            redisFree(context)
            return tryNext(after: reason)
        }
        var tls: TLSSession?
        if let endpoint, endpoint.isSecure, case .tcp(let host, _) = endpoint.address {
            tls = endpoint.tls.flatMap { TLSSession($0, host: host, on: context.pointee.fd) }
            guard tls != nil else {
                redisFree(context)
                return end("TLS could not be set up")
            }
        }
        let link = Link(context, on: loop, tls: tls)
        // Unowned: this object owns the link and closes it before releasing it; a closed link calls nothing.
        link.opened = { [unowned self, unowned link] in
            phase = .greeting
            delegate?.diallerDidOpen(link)
        }
        link.readable = { [unowned self, unowned link] in delegate?.diallerDidRead(link) }
        link.broken = { [unowned self] reason in
            if phase == .connecting { tryNext(after: reason) } else { end(reason) }
        }
        self.link = link
    }

    private func tryNext(after reason: String) {
        if untried.isEmpty { end(reason) } else { openNext() }
    }
}

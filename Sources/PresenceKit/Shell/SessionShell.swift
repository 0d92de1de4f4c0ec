import Foundation
import PresenceProtocol
import PresenceTransport

/// Runs a ``Session``: carries what happens to it, and does what it says. It decides nothing itself.
///
/// It holds itself while it is connected or waiting to be, through the tasks that carry events here; ``leave()`` ends
/// that. Every method is one turn of the session.
actor SessionShell {
    private var session: Session
    private let url: URL
    private let dialler: any Dialler
    private let time: any Timekeeper
    private let cache: any PresenceCache
    private var provideToken: PresenceClient.TokenProvider

    private var transport: (attempt: Attempt, connection: any Transport)?
    private var goodbyes: [Attempt: CheckedContinuation<Void, Never>] = [:]
    /// Attempts that were said goodbye to and have not ended yet.
    private var leaving: Set<Attempt> = []
    private var calls: [CallID: CheckedContinuation<Result<Reply, PresenceError>, Never>] = [:]
    private var lastCall: UInt64 = 0
    private var looking: [LoopID: [CheckedContinuation<Void, Never>]] = [:]
    /// Cache operations come one after the other: the last one waits for those before it.
    private var lastCacheOperation: Task<Void, Never>?
    /// Asks the token provider.
    private var fetching: Task<Void, Never>?
    private var timer: (task: Task<Void, Never>, uptime: Duration)?
    private var turnIsEnding = false

    /// How long a goodbye may take.
    private static let goodbyeTime = Duration.seconds(2)

    init(
        session: Session, url: URL, dialler: any Dialler, time: any Timekeeper, cache: any PresenceCache,
        token: @escaping PresenceClient.TokenProvider
    ) {
        self.session = session
        self.url = url
        self.dialler = dialler
        self.time = time
        self.cache = cache
        provideToken = token
    }

    // MARK: What the app does

    func connect() {
        session.connect(again: true, at: time.now)
        endTurn()
    }

    func reconnectNow() {
        session.reconnectNow(at: time.now)
        endTurn()
    }

    func setActivity(_ activity: Activity) {
        session.setActivity(activity)
        endTurn()
    }

    func background() {
        session.background(at: time.now)
        endTurn()
    }

    func foreground() {
        session.foreground(at: time.now)
        endTurn()
    }

    /// Returns when the server has said goodbye too, or a little later.
    func disconnect() async {
        let attempt = transport?.attempt
        session.disconnect(at: time.now)
        endTurn()
        await goodbye(attempt)
    }

    func signOut() async {
        let attempt = transport?.attempt
        session.signOut(at: time.now)
        endTurn()
        await goodbye(attempt)
        await lastCacheOperation?.value
    }

    func switchUser(_ token: @escaping PresenceClient.TokenProvider) async {
        provideToken = token
        session.switchUser(at: time.now)
        endTurn()
        await lastCacheOperation?.value
    }

    func clearCache() async {
        perform(.clearCache)
        await lastCacheOperation?.value
    }

    /// Nobody holds the client any more.
    func leave() {
        session.disconnect(at: time.now)
        endTurn()
        timer?.task.cancel()
        timer = nil
        fetching?.cancel()
    }

    var user: String? { session.user?.string }

    /// Whether anything is observed.
    var hasLoops: Bool { !session.loops.isEmpty }

    /// The uptime at which anything last came from the server.
    var lastHeard: Duration { session.lastHeard }

    var serverTime: ServerTime { ServerTime(clock: session.clock, time: time) }

    /// Asks for something and waits for the answer.
    func call(_ call: Call) async -> Result<Reply, PresenceError> {
        lastCall += 1
        let id = CallID(number: lastCall)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                calls[id] = continuation
                handle(.call(id, call))
            }
        } onCancel: {
            Task { await self.handle(.cancel(id)) }
        }
    }

    // MARK: Loops

    func open(_ topic: Topic) -> LoopID {
        defer { endTurnSoon() }
        return session.open(topic, at: time.now)
    }

    func close(_ loop: LoopID) {
        session.close(loop, at: time.now)
        wake(loop)
        endTurnSoon()
    }

    /// The next element of a loop, as soon as there is news; `nil` when the loop has ended or its task was cancelled.
    func next<Element: Sendable>(
        _ loop: LoopID, _ read: @Sendable (inout Session, LoopID) -> Element?
    ) async -> Element? {
        while session.loops[loop] != nil, !Task.isCancelled {
            if let element = read(&session, loop) { return element }
            await news(for: loop)
        }
        return nil
    }

    private func news(for loop: LoopID) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { looking[loop, default: []].append($0) }
        } onCancel: {
            Task { await self.wake(loop) }
        }
    }

    private func wake(_ loop: LoopID) {
        looking.removeValue(forKey: loop)?.forEach { $0.resume() }
    }

    // MARK: Turns

    private func handle(_ input: Input) {
        session.handle(input, at: time.now)
        endTurnSoon()
    }

    /// What else has arrived by now belongs to the same turn: its subscriptions go in one message.
    private func endTurnSoon() {
        guard !turnIsEnding else { return }
        turnIsEnding = true
        Task { self.endTurn() }
    }

    private func endTurn() {
        turnIsEnding = false
        for directive in session.endTurn(at: time.now) { perform(directive) }
        setTimer()
    }

    private func setTimer() {
        guard let deadline = session.nextDeadline else {
            timer?.task.cancel()
            timer = nil
            return
        }
        // A timer that is early looks again; only one that would be late is replaced.
        if let timer, timer.uptime <= deadline { return }
        timer?.task.cancel()
        timer = (
            Task { [time] in
                guard (try? await time.sleep(until: deadline)) != nil, !Task.isCancelled else { return }
                self.timerFired(deadline)
            }, deadline
        )
    }

    private func timerFired(_ uptime: Duration) {
        guard timer?.uptime == uptime else { return }
        timer = nil
        session.handle(.tick, at: time.now)
        endTurn()
    }

    // MARK: Directives

    private func perform(_ directive: Directive) {
        switch directive {
        case .fetchToken(let attempt): fetchToken(attempt)
        case .open(let attempt): open(attempt)
        case .send(let text): transport?.connection.send(text)
        case .ping: transport?.connection.ping()
        case .close:
            if let attempt = transport?.attempt { leaving.insert(attempt) }
            transport?.connection.close()
            transport = nil
        case .abort:
            transport?.connection.abort()
            transport = nil
        case .answer(let id, let result): calls.removeValue(forKey: id)?.resume(returning: result)
        case .wake(let loops): loops.forEach(wake)
        case .readCache(let users):
            let strings = users.map(\.string)
            afterCache { [cache] in
                let found = await cache.read(strings)
                await self.handle(.cached(users, found))
            }
        case .writeCache(let people): afterCache { [cache] in await cache.write(people) }
        case .clearCache: afterCache { [cache] in await cache.removeAll() }
        }
    }

    private func afterCache(_ operation: @escaping @Sendable () async -> Void) {
        lastCacheOperation = Task { [lastCacheOperation] in
            await lastCacheOperation?.value
            await operation()
        }
    }

    private func fetchToken(_ attempt: Attempt) {
        // Who asks again has given up the one before.
        fetching?.cancel()
        fetching = Task { [provideToken] in
            let result: Result<String, PresenceError>
            do {
                result = .success(try await provideToken())
            } catch let error as PresenceError {
                result = .failure(error)
            } catch {
                result = .failure(PresenceError(.tokenUnavailable, "the token provider threw: \(error)"))
            }
            self.handle(.token(attempt, result))
        }
    }

    private func open(_ attempt: Attempt) {
        let (events, report) = AsyncStream.makeStream(of: TransportEvent.self)
        let connection = dialler.dial(url, subprotocol: "presence.v1") { event in
            report.yield(event)
            if case .ended = event { report.finish() }
        }
        transport = (attempt, connection)
        Task {
            for await event in events { self.take(event, of: attempt) }
        }
    }

    private func take(_ event: TransportEvent, of attempt: Attempt) {
        switch event {
        case .opened: handle(.opened(attempt))
        case .received(let text): handle(.received(attempt, text))
        case .alive: handle(.alive(attempt))
        case .ended(let end):
            leaving.remove(attempt)
            goodbyes.removeValue(forKey: attempt)?.resume()
            if transport?.attempt == attempt { transport = nil }
            handle(.ended(attempt, Ending(end)))
        }
    }

    private func goodbye(_ attempt: Attempt?) async {
        guard let attempt, leaving.contains(attempt), goodbyes[attempt] == nil else { return }
        let deadline = time.now.uptime + Self.goodbyeTime
        let patience = Task { [time] in
            try? await time.sleep(until: deadline)
            self.goodbyes.removeValue(forKey: attempt)?.resume()
        }
        await withCheckedContinuation { goodbyes[attempt] = $0 }
        patience.cancel()
    }
}

import Foundation
import PresenceProtocol

/// Runs an ``Engine``: passes inputs to it and performs its directives. It decides nothing itself.
///
/// All inputs pass through ``handle(_:)``, after those posted to the mailbox before. Everything that has arrived by
/// then belongs to the same turn. While the client is connected or waiting to be, the runner is retained by the tasks
/// that carry events to it; `.abandon` ends that.
actor Runner {
    var engine: Engine
    let url: URL
    private let dialler: any Dialler
    let time: any Timekeeper
    let storage: Storage
    let logger: PresenceLogger?
    private let mailbox: Mailbox
    private let listeners: [String: PresenceClient.EventListener]
    var libraries: [PresenceClient.LibraryListener] = []
    private(set) var provideToken: PresenceClient.TokenProvider

    private var transport: (attempt: Attempt, connection: any Transport)?
    /// The app's tasks that wait for a result.
    private var calls: [CallID: CheckedContinuation<Result<Reply, PresenceError>, Never>] = [:]
    /// The app's tasks that wait for a change.
    private var looking: [ObserverID: [CheckedContinuation<Void, Never>]] = [:]
    private var (lastCall, lastObserver): (UInt64, UInt64) = (0, 0)
    /// The last storage operation; the next one waits for it.
    private(set) var lastOperation: Task<Void, Never>?
    /// The last report to the libraries; the next one waits for it.
    var lastReport: Task<Void, Never>?
    /// Reads the storage of an earlier process; started by the first input.
    private var recalling: Task<Void, Never>?
    /// Calls the token provider.
    private var fetching: Task<Void, Never>?
    private var timer: (task: Task<Void, Never>, uptime: Duration)?
    private var turnIsEnding = false

    init(
        engine: Engine, url: URL, dialler: any Dialler, time: any Timekeeper, storage: Storage,
        mailbox: Mailbox, logger: PresenceLogger?, listeners: [String: PresenceClient.EventListener] = [:],
        token: @escaping PresenceClient.TokenProvider
    ) {
        (self.engine, self.url, self.dialler, self.time) = (engine, url, dialler, time)
        (self.storage, self.mailbox, self.listeners, self.logger) = (storage, mailbox, listeners, logger)
        provideToken = token
    }

    var serverTime: PresenceClient.ServerTime { PresenceClient.ServerTime(clock: engine.link.clock, time: time) }

    /// Reads the engine's current state, after handling all posted inputs.
    func inspect<Value: Sendable>(_ read: @Sendable (borrowing Engine) -> Value) async -> Value {
        await recalled()
        return read(engine)
    }

    /// Waits until the storage of an earlier process was read.
    func recalled() async {
        handlePosted()
        await recalling?.value
    }

    /// See ``Engine/isBusy``.
    var isBusy: Bool { engine.isBusy }

    /// Whether there is any observer.
    var isObserved: Bool { !engine.observers.isEmpty }

    /// The uptime at which anything last arrived from the server.
    var lastHeard: Duration { engine.link.heartbeat.lastHeard }

    // MARK: Inputs

    func handle(_ input: Input) {
        handlePosted()
        run(input)
        endTurnSoon()
    }

    /// Handles the posted inputs.
    func handlePosted() {
        recall()
        let posted = mailbox.take()
        for input in posted { run(input) }
        if !posted.isEmpty { endTurnSoon() }
    }

    /// Reads the storage, once.
    private func recall() {
        guard recalling == nil else { return }
        recalling = afterStorage { [storage, logger] in
            do {
                for problem in storage.problems { logger?.log(.error, problem) }
                let (owner, writes) = try await storage.writes.load()
                await self.handle(.recalled(owner.flatMap(UserID.init), writes))
            } catch {
                logger?.log(.error, "the storage cannot be read: \(error)")
            }
        }
    }

    /// Handles an input that has a result, and waits for it.
    func ask(_ input: @Sendable (CallID) -> Input) async -> Result<Reply, PresenceError> {
        lastCall += 1
        let id = CallID(number: lastCall)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                calls[id] = continuation
                handle(input(id))
            }
        } onCancel: {
            Task { await self.handle(.cancel(id)) }
        }
    }

    func switchUser(_ token: @escaping PresenceClient.TokenProvider) async {
        provideToken = token
        _ = await ask { .switchUser($0) }
        await finishPending()
    }

    func signOut() async {
        _ = await ask { .signOut($0) }
        await finishPending()
    }

    private func run(_ input: Input) {
        for directive in engine.handle(input, at: time.now) { perform(directive) }
    }

    /// Everything that has arrived by now belongs to the same turn: its subscriptions are sent in one message.
    private func endTurnSoon() {
        guard !turnIsEnding else { return }
        turnIsEnding = true
        Task { self.endTurn() }
    }

    private func endTurn() {
        turnIsEnding = false
        run(.turnEnded)
        setTimer()
    }

    // MARK: The app's loops

    func observe(_ topic: Topic) -> ObserverID {
        lastObserver += 1
        let id = ObserverID(number: lastObserver)
        handle(.observe(id, topic))
        return id
    }

    /// Waits for the next element of a loop; `nil` when the loop has ended or its task was cancelled.
    func next<Element: Sendable>(
        _ observer: ObserverID, _ read: @Sendable (inout Engine, ObserverID) -> Element?
    ) async -> Element? {
        while engine.observers[observer] != nil, !Task.isCancelled {
            if let element = read(&engine, observer) { return element }
            await news(for: observer)
        }
        return nil
    }

    private func news(for observer: ObserverID) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { looking[observer, default: []].append($0) }
        } onCancel: {
            Task { await self.wake(observer) }
        }
    }

    private func wake(_ observer: ObserverID) {
        looking.removeValue(forKey: observer)?.forEach { $0.resume() }
    }

    // MARK: Time

    private func setTimer() {
        guard let deadline = engine.nextDeadline else {
            timer?.task.cancel()
            timer = nil
            return
        }
        // A timer that fires early is set again; only one that would fire late is replaced.
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
        handle(.tick)
    }

    // MARK: Directives

    private func perform(_ directive: Directive) {
        switch directive {
        case .fetchToken(let attempt, let isNew): fetchToken(attempt, isNew)
        case .cancelFetch: fetching?.cancel()
        case .dial(let attempt): dial(attempt)
        case .send(let text): transport?.connection.send(text)
        case .ping: transport?.connection.ping()
        case .close:
            transport?.connection.close()
            transport = nil
        case .abort:
            transport?.connection.abort()
            transport = nil
        case .answer(let id, let result): calls.removeValue(forKey: id)?.resume(returning: result)
        case .wake(let observers): observers.forEach(wake)
        case .readCache(let users):
            let strings = users.map(\.string)
            afterStorage { [storage] in await self.handle(.cached(storage.cache.read(strings))) }
        case .writeCache(let people): afterStorage { [storage] in await storage.cache.write(people) }
        case .clearCache(let clearing, let andWrites): clear(clearing, andWrites)
        case .store(let write): store(write)
        case .removeWrites(let ids): removeWrites(ids)
        case .handOver(let type, let bytes):
            listeners[type]?(Data(bytes))
            report(.event(type: type, Data(bytes)), to: libraries)
        case .tell(let event): report(event, to: libraries)
        case .storeOwner(let user): storeOwner(user)
        case .log(let level, let message): logger?.log(level, message)
        }
    }

    // MARK: The storage

    @discardableResult
    func afterStorage(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        let task = Task { [lastOperation] in
            await lastOperation?.value
            await operation()
        }
        lastOperation = task
        return task
    }

    private func fetchToken(_ attempt: Attempt, _ isNew: Bool) {
        // The engine has already given up the earlier fetch.
        fetching?.cancel()
        fetching = Task { [provideToken, recalling] in
            // The writes of an earlier process are older than anything that is sent.
            await recalling?.value
            let token = await PresenceClient.$wantsNewToken.withValue(isNew) { await Self.token(of: provideToken) }
            if !Task.isCancelled { self.handle(.token(attempt, token)) }
        }
    }

    static func token(of provider: PresenceClient.TokenProvider) async -> Result<String, PresenceError> {
        do {
            return .success(try await provider())
        } catch let error as PresenceError where error.code != .unauthorized || error.reason == nil {
            return .failure(error)
        } catch {
            // A rejection of a request of accounts, which has a reason, counts too: the account may sign in again.
            return .failure(PresenceError(.tokenUnavailable, "the token provider threw: \(error)"))
        }
    }

    private func dial(_ attempt: Attempt) {
        let (events, report) = AsyncStream.makeStream(of: TransportEvent.self)
        let connection = dialler.dial(url, subprotocol: "presence.v1") { event in
            report.yield(event)
            if case .ended = event { report.finish() }
        }
        transport = (attempt, connection)
        Task {
            for await event in events { self.handle(Input(event, of: attempt)) }
            if self.transport?.attempt == attempt { self.transport = nil }
        }
    }
}

import CLibEV
import Glibc
import Synchronization

/// One thread that runs one libev loop on epoll. An actor can use the loop as its executor.
///
/// In each turn, the loop wakes up, reads the clock (`now`) and calls everything that is due: sockets, timers, posted
/// work. Before it sleeps again, it calls the hooks registered with `atEndOfTurn`. `start`, `stop`, `join`, `execute`,
/// `isCurrent` and the executor may be used from any thread. Everything else may be used only on the loop's own thread
/// or, before `start`, by the creator.
///
/// An actor keeps its loop alive by a strong reference. Work that is posted after the loop's thread has ended runs on a
/// new thread, made for this work. Without that, a task that returns to the actor so late (from a continuation, for
/// example) would never resume.
// @unchecked: `mailbox`, `thread` and `afterwards` lock themselves. Other mutable state is confined to the loop's
// thread (before `start` and after `join`, to the one thread that has the loop, or `afterwards`).
public final class EventLoop: SerialExecutor, @unchecked Sendable {
    /// Also the thread's name, of which the system shows the first 15 bytes.
    public let name: String

    /// The libev loop, for libraries that bring their own watchers. Owned by this object; only its thread may use it.
    public let raw: OpaquePointer

    /// The time of this turn: milliseconds of `CLOCK_MONOTONIC`, read once when the loop woke up.
    ///
    /// When the whole process was suspended (SIGSTOP, a stalled machine), the time jumps by the length of the
    /// suspension. To detect that, compare the time with its value in an earlier turn.
    public var now: Int64 { turnBegan / 1000 }

    /// The current time in microseconds of the same clock, for measuring latencies.
    public var preciseNow: Int64 { MonotonicClock.microseconds }

    /// Grows with each turn.
    public private(set) var turnNumber: UInt64 = 0

    /// How long this turn has taken so far, in microseconds.
    public var turnTook: Int64 { MonotonicClock.microseconds - turnBegan }

    /// In microseconds of the monotonic clock.
    private(set) var turnBegan: Int64
    var lag = LoopLag()

    let mailbox = Mailbox()
    private var batch: [Mailbox.Work] = []
    private var hooks = EndOfTurnHooks()

    /// The most passes over posted work and hooks at the end of one turn. After these passes sockets and timers get
    /// their turn, even if work is left.
    private static let passesAtEndOfTurn = 8
    /// The most rounds of posted work before the hooks: each `await` of an async function may post its next step.
    private static let roundsBeforeHooks = 8

    /// Owned; initialised and started in `init`, so that their addresses are fixed; freed in `deinit`.
    private let watchers: UnsafeMutablePointer<Watchers>

    private struct Watchers {
        var doorbell = ev_async()
        var wakeUp = ev_check()
        var sleep = ev_prepare()
    }

    /// The running thread, until it is joined.
    private let thread = Locked<QuietThread?>(nil)
    private let hasStarted = Atomic(false)
    /// Locked by the thread that runs late work.
    private let afterwards = Locked(())

    /// - Throws: `EventLoopError` when the kernel gives no epoll descriptor.
    public init(name: String) throws {
        guard let raw = ev_loop_new(UInt32(EVBACKEND_EPOLL | Int(EVFLAG_NOENV))) else {
            throw EventLoopError.noLoop(name: name)
        }
        self.name = name
        self.raw = raw
        turnBegan = MonotonicClock.microseconds
        watchers = .allocate(capacity: 1)
        watchers.initialize(to: Watchers())
        startWatchers()
    }

    deinit {
        // The running thread has a reference to the loop, so it has ended or never began.
        thread.withLock { thread in
            thread?.detach()
        }
        ev_loop_destroy(raw)
        watchers.deinitialize(count: 1)
        watchers.deallocate()
    }

    // MARK: - From any thread

    /// Starts the thread, which runs until `stop()`. Call it once.
    public func start() {
        precondition(!hasStarted.exchange(true, ordering: .sequentiallyConsistent), "loop \(name) was started already")
        thread.withLock { thread in
            // The thread has a reference to the loop while it runs.
            thread = QuietThread(name: name) { [self] in run() }
        }
    }

    /// Ends the loop after all work that was posted earlier. Returns immediately; `join()` waits for the end.
    public func stop() {
        execute { [self] in ev_break(raw, Int32(EVBREAK_ALL)) }
    }

    /// Blocks until the thread has ended; returns immediately if it never began.
    public func join() {
        precondition(!isCurrent, "loop \(name) cannot wait for itself")
        // A second caller waits for the lock, and by then the thread has ended.
        thread.withLock { thread in
            guard let running = thread else { return }
            running.join()
            thread = nil
        }
    }

    /// Whether the caller runs on this loop's thread.
    public var isCurrent: Bool { clibev_current() == raw }

    /// Runs `work` on the loop, after everything posted before it. Never runs it immediately, even on the loop's own
    /// thread.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        post(.closure(work))
    }

    func post(_ work: Mailbox.Work) {
        switch mailbox.post(work, fromLoop: isCurrent) {
        case .none: break
        case .ring: ring()
        case .runElsewhere: QuietThread(name: name) { [self] in runAfterwards() }.detach()
        }
    }

    /// ev_async_send is the one function of libev that any thread may call.
    private func ring() {
        ev_async_send(raw, &watchers.pointee.doorbell)
    }

    // MARK: - On the loop

    /// Calls `hook` at the end of each turn, just before the loop sleeps. Hooks are called in the order of registration.
    /// If work was posted meanwhile, they are called again in the same turn. The hook is registered until the returned
    /// token is cancelled.
    @discardableResult
    public func atEndOfTurn(_ hook: @escaping () -> Void) -> EndOfTurnHook {
        assertOnLoop()
        let token = EndOfTurnHook(hook)
        hooks.add(token)
        return token
    }

    /// Makes the thread's later allocations cheaper: see `clibev_reserve_memory`. Call it before many lasting
    /// allocations.
    public func reserveMemory() {
        assertOnLoop()
        clibev_reserve_memory()
    }

    /// Returns the `LoopLag` since the last call, and starts a new count.
    public func takeLag() -> LoopLag {
        assertOnLoop()
        defer { lag = LoopLag() }
        return lag
    }

    func assertOnLoop() {
        assert(isCurrent || !isRunning, "loop \(name) used from another thread")
    }

    private var isRunning: Bool { thread.withLock { $0 != nil } }

    // MARK: - The turn

    private func startWatchers() {
        // The watchers' pointers to the loop are unretained: they are called on the thread only, which has a reference
        // to it.
        let me = Unmanaged.passUnretained(self).toOpaque()
        clibev_check_init_first(&watchers.pointee.wakeUp, { _, watcher, _ in EventLoop.of(watcher!).wakeUp() }, me)
        clibev_async_init(&watchers.pointee.doorbell, { _, watcher, _ in EventLoop.of(watcher!).runPosted() }, me)
        clibev_prepare_init(&watchers.pointee.sleep, { _, watcher, _ in EventLoop.of(watcher!).endTurn() }, me)
        ev_check_start(raw, &watchers.pointee.wakeUp)
        ev_async_start(raw, &watchers.pointee.doorbell)
        ev_prepare_start(raw, &watchers.pointee.sleep)
    }

    private static func of(_ watcher: UnsafeMutablePointer<ev_check>) -> EventLoop { of(watcher.pointee.data) }
    private static func of(_ watcher: UnsafeMutablePointer<ev_async>) -> EventLoop { of(watcher.pointee.data) }
    private static func of(_ watcher: UnsafeMutablePointer<ev_prepare>) -> EventLoop { of(watcher.pointee.data) }

    // Unretained: see startWatchers.
    private static func of(_ data: UnsafeMutableRawPointer) -> EventLoop {
        Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue()
    }

    private func run() {
        clibev_set_current(raw)
        ev_now_update(raw)
        wakeUp()
        ev_run(raw, 0)
        repeat { runPosted() } while !mailbox.close()
        clibev_set_current(nil)
    }

    private func runAfterwards() {
        afterwards.withLock { _ in
            clibev_set_current(raw)
            while !mailbox.isEmpty { runPosted() }
            clibev_set_current(nil)
        }
    }

    private func wakeUp() {
        turnBegan = MonotonicClock.microseconds
        turnNumber &+= 1
    }

    private func runPosted() {
        mailbox.take(into: &batch)
        for work in batch {
            switch work {
            case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
            case .step(let job, let executor): job.runSynchronously(on: executor.asUnownedTaskExecutor())
            case .closure(let closure): closure()
            }
        }
        batch.removeAll(keepingCapacity: batch.capacity <= 4096)
    }

    private func endTurn() {
        var passes = 0
        repeat {
            var rounds = 0
            repeat {
                runPosted()
                rounds += 1
            } while rounds < Self.roundsBeforeHooks && !mailbox.isEmpty
            for hook in hooks.current() { hook.hook?() }
            passes += 1
        } while passes < Self.passesAtEndOfTurn && !mailbox.isEmpty
        // Posts from this thread did not ring the bell: the loop must not sleep while work is left.
        if !mailbox.isEmpty { ring() }

        let took = turnTook
        lag.turns += 1
        lag.busy += took
        lag.longestTurn = max(lag.longestTurn, took)
    }
}

import CLibEV
import Glibc
import Synchronization

/// One thread that runs one libev loop on epoll; an actor can take it as its executor.
///
/// A turn of the loop: it wakes up and reads the clock (`now`); calls whatever is due (sockets, timers, posted work);
/// and, at the end, the hooks registered with `atEndOfTurn`, before it sleeps again. Everything but `start`, `stop`,
/// `join`, `execute`, `isCurrent` and being an executor belongs to the loop's own thread; before `start`, to the
/// creator.
///
/// An actor keeps its loop alive by holding it. Work posted after the thread has ended runs on a thread made for it: a
/// task that is on its way back to the actor then (out of a continuation, say) would else never go on.
// @unchecked: `mailbox`, `thread` and `afterwards` lock themselves; everything else that can change is confined to the
// loop's thread (before `start` and after `join`, to the one thread that holds the loop, or `afterwards`).
public final class EventLoop: SerialExecutor, @unchecked Sendable {
    /// The name given to the thread too; the system shows its first 15 bytes.
    public let name: String

    /// The libev loop, for libraries that bring their own watchers. Owned by this object; only its thread may use it.
    public let raw: OpaquePointer

    /// The time of this turn: milliseconds of `CLOCK_MONOTONIC`, read once when the loop woke up.
    ///
    /// After the whole process stood still (SIGSTOP, a stalled machine) it jumps by as much: compare it with its value
    /// of an earlier turn to notice.
    public var now: Int64 { turnBegan / 1000 }

    /// The time of this moment in microseconds of the same clock, for measuring latencies.
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

    /// A turn ends with posted work and hooks in alternation until nothing is left, but at most so often: then sockets
    /// and timers have their turn again.
    private static let passesAtEndOfTurn = 8

    /// Owned; initialised and started in `init`, so that their addresses are fixed; freed in `deinit`.
    private let watchers: UnsafeMutablePointer<Watchers>

    private struct Watchers {
        var doorbell = ev_async()
        var wakeUp = ev_check()
        var sleep = ev_prepare()
    }

    /// The running thread until somebody joined it.
    private let thread = Locked<QuietThread?>(nil)
    private let hasStarted = Atomic(false)
    /// Held by the thread that runs late work.
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
        // The thread holds the loop while it runs, so it has ended or never began.
        thread.withLock { thread in
            thread?.detach()
        }
        ev_loop_destroy(raw)
        watchers.deinitialize(count: 1)
        watchers.deallocate()
    }

    // MARK: - From any thread

    /// Starts the thread; it runs until `stop()`. Once only.
    public func start() {
        precondition(!hasStarted.exchange(true, ordering: .sequentiallyConsistent), "loop \(name) was started already")
        thread.withLock { thread in
            // It holds the loop for as long as it runs.
            thread = QuietThread(name: name) { [self] in run() }
        }
    }

    /// Ends the loop after everything that was posted before. Returns at once; `join()` waits.
    public func stop() {
        execute { [self] in ev_break(raw, Int32(EVBREAK_ALL)) }
    }

    /// Blocks until the thread has ended; at once if it never began.
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

    /// Runs `work` on the loop, after everything posted before it. Never at once, even on the loop's own thread.
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

    /// Calls `hook` at the end of each turn, just before the loop sleeps, in the order of registration; again in the
    /// same turn when work was posted meanwhile. Lasts until the returned token is cancelled.
    @discardableResult
    public func atEndOfTurn(_ hook: @escaping () -> Void) -> EndOfTurnHook {
        assertOnLoop()
        let token = EndOfTurnHook(hook)
        hooks.add(token)
        return token
    }

    /// Before much is allocated here, and kept: see `clibev_reserve_memory`.
    public func reserveMemory() {
        assertOnLoop()
        clibev_reserve_memory()
    }

    /// What `LoopLag` says since the last call; starts counting anew.
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
        // The watchers point back unretained: they are called on the thread only, which holds the loop meanwhile.
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
            case .closure(let closure): closure()
            }
        }
        batch.removeAll(keepingCapacity: batch.capacity <= 4096)
    }

    private func endTurn() {
        var passes = 0
        repeat {
            runPosted()
            for hook in hooks.current() { hook.hook?() }
            passes += 1
        } while passes < Self.passesAtEndOfTurn && !mailbox.isEmpty
        // Posts from this thread did not ring: the loop must not sleep over what is left.
        if !mailbox.isEmpty { ring() }

        let took = turnTook
        lag.turns += 1
        lag.busy += took
        lag.longestTurn = max(lag.longestTurn, took)
    }
}

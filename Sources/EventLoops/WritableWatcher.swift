import CLibEV

/// Calls a function on a loop once, when a descriptor can be written to.
///
/// Confined to the loop's thread. The caller owns the descriptor, and closes it only after `cancel()`.
public final class WritableWatcher {
    private let loop: EventLoop
    private let writable: () -> Void
    /// Owned; stopped before it is freed in `deinit`.
    private let watcher: UnsafeMutablePointer<ev_io>

    /// Does not watch before `wait()`.
    public init(_ loop: EventLoop, descriptor: Int32, _ writable: @escaping () -> Void) {
        self.loop = loop
        self.writable = writable
        watcher = .allocate(capacity: 1)
        watcher.initialize(to: ev_io())
        // Unretained: the watcher is stopped before this object is released.
        let me = Unmanaged.passUnretained(self).toOpaque()
        clibev_io_init(
            watcher,
            { _, watcher, _ in
                // Retained during the call, because the function may release the watcher.
                let me = Unmanaged<WritableWatcher>.fromOpaque(watcher!.pointee.data).takeUnretainedValue()
                withExtendedLifetime(me) {
                    me.cancel()
                    me.writable()
                }
            },
            descriptor, Int32(EV_WRITE), me)
    }

    deinit {
        cancel()
        watcher.deallocate()
    }

    /// Calls the function once, as soon as the descriptor can be written to.
    public func wait() {
        loop.assertOnLoop()
        ev_io_start(loop.raw, watcher)
    }

    public func cancel() {
        loop.assertOnLoop()
        ev_io_stop(loop.raw, watcher)
    }
}

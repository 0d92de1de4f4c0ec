import CLibEV

/// Calls a function on a loop in every turn in which a descriptor can be read (or accepted from).
///
/// Confined to the loop's thread. The caller owns the descriptor, and closes it only after `cancel()`.
public final class ReadableWatcher {
    private let loop: EventLoop
    private let readable: () -> Void
    /// Owned; stopped before it is freed in `deinit`.
    private let watcher: UnsafeMutablePointer<ev_io>

    /// Starts watching immediately.
    ///
    /// - Parameter isFirst: call this watcher before others of the same descriptor in each turn.
    public init(_ loop: EventLoop, descriptor: Int32, isFirst: Bool = false, _ readable: @escaping () -> Void) {
        self.loop = loop
        self.readable = readable
        watcher = .allocate(capacity: 1)
        watcher.initialize(to: ev_io())
        // Unretained: the watcher is stopped before this object is released.
        let me = Unmanaged.passUnretained(self).toOpaque()
        let initialize = isFirst ? clibev_io_init_first : clibev_io_init
        initialize(
            watcher,
            { _, watcher, _ in
                // Retained during the call, because the function may release the watcher.
                let me = Unmanaged<ReadableWatcher>.fromOpaque(watcher!.pointee.data).takeUnretainedValue()
                withExtendedLifetime(me) { me.readable() }
            },
            descriptor, Int32(EV_READ), me)
        resume()
    }

    deinit {
        cancel()
        watcher.deallocate()
    }

    /// Watches again after `cancel()`.
    public func resume() {
        loop.assertOnLoop()
        ev_io_start(loop.raw, watcher)
    }

    /// Stops watching. Unread bytes stay in the descriptor.
    public func cancel() {
        loop.assertOnLoop()
        ev_io_stop(loop.raw, watcher)
    }
}

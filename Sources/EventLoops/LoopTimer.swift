import CLibEV

/// Calls a function once on a loop at a given time; can be set again and again.
///
/// Confined to the loop's thread (before it starts, to the loop's creator), but may be released anywhere.
/// When it fires, the loop's `now` has reached the time that was set, never less.
public final class LoopTimer {
    private let core: Core

    /// - Parameter fire: called on the loop. At that point the timer is no longer set; `fire` may set it again.
    public init(_ loop: EventLoop, _ fire: @escaping () -> Void) {
        core = Core(loop, fire)
    }

    deinit {
        let core = core
        if core.loop.isCurrent || !core.isSet {
            core.cancel()
        } else {
            core.loop.execute { core.cancel() }
        }
    }

    /// Whether the timer will fire.
    public var isSet: Bool { core.isSet }

    /// The time at which the timer will fire, in monotonic milliseconds; nil if it is not set.
    public var due: Int64? { core.isSet ? core.due : nil }

    /// Fires `milliseconds` after the beginning of this turn. Replaces an earlier setting.
    public func set(after milliseconds: Int64) {
        core.set(at: core.loop.now + milliseconds)
    }

    /// Fires when the loop's `now` reaches `time`, in monotonic milliseconds (in the next turn if it has passed).
    /// Replaces an earlier setting.
    public func set(at time: Int64) {
        core.set(at: time)
    }

    /// Prevents the timer from firing until it is set again.
    public func cancel() {
        core.cancel()
    }

    // @unchecked: confined to the loop's thread; only its last reference may be dropped elsewhere.
    private final class Core: @unchecked Sendable {
        let loop: EventLoop
        private let fire: () -> Void
        private(set) var due: Int64 = 0
        /// Owned, freed in `deinit`. While the watcher is started it has a reference to this object (`retained`), so
        /// libev neither uses a freed watcher nor calls a released object.
        private let watcher: UnsafeMutablePointer<ev_timer>
        private var retained: Unmanaged<Core>?

        init(_ loop: EventLoop, _ fire: @escaping () -> Void) {
            self.loop = loop
            self.fire = fire
            watcher = .allocate(capacity: 1)
            watcher.initialize(to: ev_timer())
            // Unretained here: libev calls it only while started, when `retained` keeps it alive.
            let me = Unmanaged.passUnretained(self).toOpaque()
            clibev_timer_init(
                watcher,
                { _, watcher, _ in Unmanaged<Core>.fromOpaque(watcher!.pointee.data).takeUnretainedValue().expired() },
                me)
        }

        deinit {
            watcher.deallocate()
        }

        var isSet: Bool { retained != nil }

        func set(at time: Int64) {
            loop.assertOnLoop()
            due = time
            arm()
        }

        func cancel() {
            guard let retained else { return }
            loop.assertOnLoop()
            ev_timer_stop(loop.raw, watcher)
            self.retained = nil
            retained.release()
        }

        private func arm() {
            ev_timer_stop(loop.raw, watcher)
            // libev counts from the beginning of the turn, as `turnBegan` does.
            clibev_timer_set(watcher, Double(max(0, due * 1000 - loop.turnBegan)) / 1_000_000, 0)
            ev_timer_start(loop.raw, watcher)
            // Released in `cancel`, which firing calls too.
            if retained == nil { retained = Unmanaged.passRetained(self) }
        }

        private func expired() {
            // libev read its clock a moment earlier; and before the loop starts, libev's time is outdated.
            guard loop.now >= due else { return arm() }
            loop.lag.latestTimer = max(loop.lag.latestTimer, loop.now - due)
            withExtendedLifetime(self) {
                cancel()
                fire()
            }
        }
    }
}

import CEpoll

/// The core that this process' one thread runs on.
enum Core {
    /// Pins the process to `core`, so that it does not use another one's time; `nil` leaves it to the kernel.
    static func pin(to core: Int?) throws(Failure) {
        guard let core else { return }
        guard cepoll_pin(Int32(clamping: core)) == 0 else { throw Failure("this process cannot run on core \(core)") }
    }
}

import Foundation

/// How `everysec` is done: Redis writes its log before it answers and never forces it, and we force it once a second.
///
/// Redis' own `everysec` has a flaw here: while its force is under way it does not write but answers nevertheless, so
/// that a Redis killed in such a moment has forgotten what it acknowledged (7 of 150 kills under load, up to 3,253
/// answered commands). Done from outside, whatever was answered is in the kernel's hands: it survives the death of
/// every process, at the same cost. A power cut costs the last second or two either way.
extension RedisServerProcess {
    private static let syncInterval = DispatchTimeInterval.seconds(1)

    /// Forces the log once a second until `end` is signalled. For a thread of its own: forcing blocks for as long as
    /// the disk takes.
    func syncLog(until end: DispatchSemaphore) {
        var isFailing = false
        while end.wait(timeout: .now() + Self.syncInterval) == .timedOut {
            let began = ContinuousClock.now
            let failure = syncLogOnce()
            let took = ContinuousClock.now - began
            if let failure, !isFailing {
                logger.error("the log of Redis cannot be forced to the disk", metadata: ["error": "\(failure)"])
            } else if took > .seconds(2) {
                logger.warning("the disk is slow", metadata: ["took": "\(took)"])
            }
            isFailing = failure != nil
        }
    }

    /// Forces every part of the log that is written to. Returns what went wrong, if anything.
    private func syncLogOnce() -> String? {
        let log = directory.file("appendonlydir")
        var failure: String?
        for name in (try? FileManager.default.contentsOfDirectory(atPath: log)) ?? [] where name.hasSuffix(".incr.aof")
        {
            let descriptor = open(log + "/" + name, O_RDONLY | O_CLOEXEC)
            // It may have been replaced by a rewrite since; its successor is whole.
            guard descriptor >= 0 else { continue }
            if fdatasync(descriptor) != 0 { failure = String(cString: strerror(errno)) }
            close(descriptor)
        }
        return failure
    }
}

import Foundation
import Glibc
import Synchronization

/// The service manager that started the process and waits for its messages: systemd with `Type=notify`, see
/// sd_notify(3).
///
/// Each message is one datagram to the socket that the environment names. It is sent without waiting and is never
/// answered: a manager that does not read cannot block the process.
package final class ServiceManager: Sendable {
    /// Open from `init` to `deinit`, owned by this object only. Not inherited by children.
    private let descriptor: Int32
    private let address: sockaddr_un
    private let length: socklen_t
    /// The manager kills a process that sends no message for this long, in ms; `nil` without a watchdog.
    package let watchdog: Int64?
    private let isReady = Atomic(false)

    /// - Parameter environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`, as the manager sets them.
    /// - Returns: `nil` if no manager waits for messages.
    /// - Throws: ``StartFailure`` if the variable is not a valid socket name.
    package init?(environment: [String: String] = ProcessInfo.processInfo.environment) throws(StartFailure) {
        guard let name = environment["NOTIFY_SOCKET"], !name.isEmpty else { return nil }
        var bytes = Array(name.utf8)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes[0] == UInt8(ascii: "/") || bytes[0] == UInt8(ascii: "@"), bytes.count < room else {
            throw StartFailure(
                "NOTIFY_SOCKET is \"\(name)\", but must be a path, or a name after an @, of less than \(room) bytes")
        }
        // An abstract name begins with a zero byte.
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.address = address
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            throw StartFailure("no socket for NOTIFY_SOCKET: \(String(cString: strerror(errno)))")
        }
        let forUs = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) }
        watchdog = forUs ? microseconds.flatMap { $0 >= 2_000 ? $0 / 1_000 : nil } : nil
    }

    deinit { close(descriptor) }

    /// The server accepts connections.
    package func ready(status: String) {
        isReady.store(true, ordering: .relaxed)
        notify("READY=1\nSTATUS=\(status)")
    }

    /// Certificate and keys are being reloaded, until ``reloaded()``. Not sent before the server is ready.
    package func reloading() {
        guard isReady.load(ordering: .relaxed) else { return }
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1_000
        notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// The reload has ended.
    package func reloaded() {
        if isReady.load(ordering: .relaxed) { notify("READY=1") }
    }

    /// The server is about to end.
    package func stopping() { notify("STOPPING=1\nSTATUS=stopping") }

    /// The process works.
    package func alive() { notify("WATCHDOG=1") }

    /// Sends ``alive()`` as long as the process works, until the task is cancelled.
    ///
    /// - Parameter isWell: Returns when every part has answered. If a part hangs, it does not return, and the manager
    ///   restarts the process.
    package func keepAlive(_ isWell: @Sendable () async -> Void) async {
        guard let watchdog else { return }
        repeat {
            await isWell()
            alive()
            // The interval that sd_watchdog_enabled(3) advises.
        } while (try? await Task.sleep(for: .milliseconds(watchdog / 2))) != nil
    }

    /// A failure is ignored: there is no other way to report it.
    private func notify(_ message: String) {
        var address = address
        let bytes = Array(message.utf8)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), $0, length)
            }
        }
    }
}

import EventLoops
import Foundation

/// A directory for one test. At its end it is removed, and with it every process that still works in it.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        var template = Array("/tmp/presence-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Spawning.Failure(reason: "no temporary directory: \(errno)") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        Self.present.withLock { [path] in _ = $0.insert(path) }
        _ = Self.removalAtExit
    }

    deinit {
        Self.present.withLock { [path] in _ = $0.remove(path) }
        Self.remove(path)
    }

    /// Directories that still exist when the test process exits are removed then.
    private static let present = Locked<Set<String>>([])
    private static let removalAtExit: Int32 = atexit {
        for path in TemporaryDirectory.present.withLock({ $0 }) { TemporaryDirectory.remove(path) }
    }

    private static func remove(_ path: String) {
        for process in processes(in: path) { kill(process, SIGKILL) }
        try? FileManager.default.removeItem(atPath: path)
    }

    package func file(_ name: String) -> String { path + "/" + name }

    /// The processes that work in the directory or name it in their command line, but for ended ones and the shells of
    /// ``ChildProcess``.
    package var processes: [pid_t] { Self.processes(in: path) }

    private static func processes(in path: String) -> [pid_t] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.filter { $0 != getpid() && concerns($0, path) }
    }

    private static func concerns(_ process: pid_t, _ path: String) -> Bool {
        guard let state = read("/proc/\(process)/stat"), !state.contains(") Z "),
            !state.contains("(sh) S \(getpid()) ")
        else { return false }
        let workplace = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd")
        return workplace?.hasPrefix(path) == true || read("/proc/\(process)/cmdline")?.contains(path) == true
    }

    private static func read(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}

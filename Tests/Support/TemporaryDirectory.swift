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
        guard workplace(of: process).hasPrefix(path) || read("/proc/\(process)/cmdline").contains(path) else {
            return false
        }
        let state = read("/proc/\(process)/stat")
        return state != "" && !state.contains(") Z ") && !state.contains("(sh) S \(getpid()) ")
    }

    private static func workplace(of process: pid_t) -> Substring {
        var bytes = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/\(process)/cwd", &bytes, bytes.count)
        return Substring(decoding: bytes.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Empty if the process has ended. (Foundation's way takes ten times as long, and each end of a Redis reads all processes.)
    private static func read(_ path: String) -> Substring {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(file, &bytes, bytes.count)
        return Substring(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

import Foundation

/// The memory that this process may use: the machine's, or less if its control groups limit it.
enum MachineMemory {
    /// In bytes.
    static var bytes: Int {
        let machine = sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
        let own = text("/proc/self/cgroup").flatMap(group(in:)) ?? "/"
        return limits(of: own, in: "/sys/fs/cgroup").min().map { min($0, machine) } ?? machine
    }

    /// The path of this process' group in the one hierarchy of version 2: `0::/system.slice/presenced.service`.
    static func group(in text: String) -> String? {
        text.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
    }

    /// The memory limits of a group and of its parents. In a container the mounted tree begins with the container's own
    /// group.
    static func limits(of group: String, in root: String) -> [Int] {
        var path = group == "/" ? "" : group
        var limits: [Int] = []
        while true {
            if let limit = text(root + path + "/memory.max").flatMap({
                Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
            }) {
                limits.append(limit)
            }
            guard let slash = path.lastIndex(of: "/") else { return limits }
            path = String(path[..<slash])
        }
    }

    private static func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}

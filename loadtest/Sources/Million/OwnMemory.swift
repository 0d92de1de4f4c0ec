import Foundation

/// The memory of this process, in kilobytes, by the kernel's count.
struct OwnMemory: Equatable {
    var resident = 0
    /// The part of it without a file: heap and stack.
    var anonymous = 0

    static func now() -> OwnMemory {
        OwnMemory(status: (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? "")
    }

    /// Parses /proc/PID/status.
    init(status: String) {
        for line in status.split(separator: "\n") {
            let words = line.split { $0 == " " || $0 == "\t" || $0 == ":" }
            guard words.count >= 2, let kilobytes = Int(words[1]) else { continue }
            if words[0] == "VmRSS" { resident = kilobytes }
            if words[0] == "RssAnon" { anonymous = kilobytes }
        }
    }
}

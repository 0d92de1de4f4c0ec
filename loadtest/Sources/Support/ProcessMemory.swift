import Foundation

/// The private memory of processes by the kernel's count, in KB.
struct ProcessMemory: Codable, Equatable {
    /// Pages of the heap, the stacks and the like.
    var anonymousKB = 0
    /// Pages that were written to and are not shared: the end of the process would free them.
    var privateDirtyKB = 0
    var residentKB = 0

    static func read(_ processes: [Int32]) throws(Failure) -> ProcessMemory {
        var sum = ProcessMemory()
        for process in processes {
            guard let text = try? String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8) else {
                throw Failure("cannot read the memory of process \(process)")
            }
            sum.anonymousKB += KernelFile.value("Anonymous:", in: text)
            sum.privateDirtyKB += KernelFile.value("Private_Dirty:", in: text)
            sum.residentKB += KernelFile.value("Rss:", in: text)
        }
        return sum
    }

    static func - (a: ProcessMemory, b: ProcessMemory) -> ProcessMemory {
        ProcessMemory(
            anonymousKB: a.anonymousKB - b.anonymousKB, privateDirtyKB: a.privateDirtyKB - b.privateDirtyKB,
            residentKB: a.residentKB - b.residentKB)
    }
}

/// The memory that the machine's kernel uses for all sockets, in KB. For a connection over loopback it includes both
/// ends, and other programs' connections too.
struct KernelMemory: Codable, Equatable {
    /// The kernel's own objects, sockets and files among them.
    var slabKB: Int
    /// Bytes that wait in TCP's queues.
    var tcpKB: Int

    static func read() -> KernelMemory {
        let pages = KernelFile.value("mem", in: KernelFile.line("TCP:", of: "/proc/net/sockstat"))
        return KernelMemory(
            slabKB: KernelFile.value("Slab:", in: KernelFile.text("/proc/meminfo")),
            tcpKB: pages * sysconf(Int32(_SC_PAGESIZE)) / 1_024)
    }

    static func - (a: KernelMemory, b: KernelMemory) -> KernelMemory {
        KernelMemory(slabKB: a.slabKB - b.slabKB, tcpKB: a.tcpKB - b.tcpKB)
    }
}

/// Files of /proc that consist of words and numbers.
enum KernelFile {
    static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    /// The first line that begins with a word.
    static func line(_ word: String, of path: String) -> String {
        text(path).split(separator: "\n").first { $0.hasPrefix(word) }.map(String.init) ?? ""
    }

    /// The number after a word; 0 if there is none.
    static func value(_ word: String, in text: String) -> Int {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard let place = words.firstIndex(of: word[...]), place + 1 < words.count else { return 0 }
        return Int(words[place + 1]) ?? 0
    }
}

import CPhotos
import Expectations
import Glibc
import PresenceProtocol
import TestSupport
import Testing

@testable import PresenceCore
@testable import PresenceServer

/// The process that decodes pictures: its permissions and its end. The tests' own executable is the worker here, as the
/// server's is in production.
@Suite struct PhotoProcessTests {
    struct Act: Sendable, CustomTestStringConvertible {
        let name: String
        let act: @convention(c) () -> Void
        var testDescription: String { name }
    }

    static let forbidden = [
        Act(name: "open a file") { _ = open("/etc/hostname", O_RDONLY) },
        Act(name: "make a file") { _ = open("/tmp/presence-photo-escape", O_CREAT | O_WRONLY, 0o600) },
        Act(name: "open a socket") { _ = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) },
        Act(name: "run a program") {
            var process: pid_t = 0
            _ = posix_spawn(&process, "/bin/true", nil, nil, [nil], [nil])
        },
        Act(name: "signal its parent") { _ = kill(getppid(), SIGTERM) },
        Act(name: "map executable memory") {
            _ = mmap(nil, 4_096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        },
        Act(name: "make memory executable") {
            let page = mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            _ = mprotect(page, 4_096, PROT_READ | PROT_EXEC)
        },
        Act(name: "raise its limits") {
            var limits = rlimit(rlim_cur: 100, rlim_max: 100)
            _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        },
        Act(name: "look at another process") { _ = getpgid(1) },
        Act(name: "list the files of a folder") { _ = opendir("/") },
        Act(name: "go to another folder") { _ = chdir("/") },
    ]

    @Test(arguments: forbidden) func `any other system call ends it`(_ act: Act) {
        let status = photo_confined(Int32(photo_cpu_seconds), act.act)
        expect(status & 0x7F, equals: SIGSYS, "\(act.name): \(status)")
    }

    static let allowed = [
        Act(name: "end") {},
        Act(name: "allocate") {
            let room = malloc(50_000_000)!
            memset(room, 1, 50_000_000)
            free(room)
        },
        Act(name: "write to an open file") { _ = write(2, "", 0) },
        Act(name: "request too much memory, and get an error") {
            let room = mmap(nil, 2 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            if room != MAP_FAILED { _exit(9) }
        },
    ]

    @Test(arguments: allowed) func `it may compute and write to open files`(_ act: Act) {
        expect(photo_confined(Int32(photo_cpu_seconds), act.act), equals: 0, "\(act.name)")
    }

    /// At the hard limit the kernel sends SIGKILL, which would not identify the picture as the cause.
    @Test func `a picture that needs too much CPU time is identified by its signal`() {
        let status = photo_confined(1) { while true {} }
        expect(status & 0x7F, equals: SIGXCPU, "\(status)")
    }

    private func make(_ program: String, _ input: Int32, within timeout: Int32) -> photo_result {
        var room = [UInt8](repeating: 0, count: 8 + 2 * photo_most_bytes)
        return room.withUnsafeMutableBufferPointer { photo_make(program, input, timeout, $0.baseAddress!) }
    }

    @Test func `a missing program is the server's failure, not the picture's`() throws {
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        expect(make("/nonexistent/presenced", null, within: 10_000).outcome, equals: photo_failed)
        // Programs other than the worker.
        expect(make("/bin/false", null, within: 10_000).outcome != photo_done)
        expect(make("/bin/echo", null, within: 10_000).outcome, equals: photo_failed)
    }

    @Test func `a picture that takes too long is abandoned`() throws {
        // The input never ends, because the pipe has no writer.
        var pipes: [Int32] = [0, 0]
        try #require(pipe(&pipes) == 0)
        defer { pipes.forEach { close($0) } }
        let result = make("/proc/self/exe", pipes[0], within: 300)
        expect(result.outcome == photo_killed && result.signal == SIGKILL)
    }

    @Test func `a file that is no picture is distinguished from a failure`() throws {
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        let empty = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { [file, empty].forEach { close($0) } }
        for input in [file, empty] {
            expect(make("/proc/self/exe", input, within: 20_000).outcome, equals: photo_not_an_image)
        }
    }

    @Test func `a random name is in the partition of its user`() {
        let partitions = Partitions(ServerConfiguration(), database: 0)
        for user in ["ana", "bob", "cy"].compactMap({ UserID($0) }) {
            let name = StoredName(near: user, in: partitions)
            expect(partitions.index(of: name.id), equals: partitions.index(of: user))
            expect(name != StoredName(near: user, in: partitions))
        }
    }

    @Test func `a malformed file name never becomes a path`() {
        let name = String(repeating: "0", count: 32)
        expect(StoredFile(name + ".jpg")?.kind == .picture && StoredFile(name + "-small.jpg")?.kind == .thumbnail)
        expect(StoredFile(name + ".bin")?.kind == .bytes && StoredFile(name + ".bin")?.text == name + ".bin")
        for bad in [
            "", ".jpg", ".bin", "-small.jpg", name, name + ".png", name + "-small.bin", "../" + name + ".jpg",
            name.dropLast() + "A.jpg",
            name + "0.jpg",
            name + ".jpg\0", "/" + name + ".jpg", name.dropLast() + "/.jpg",
        ] { expect(StoredFile(String(bad)), equals: nil, "\(bad)") }
        let folder = FileFolder(path: "/data/photos")
        expect(folder.path(of: StoredFile(name + "-small.jpg")!), equals: "/data/photos/00/\(name)-small.jpg")
    }
}

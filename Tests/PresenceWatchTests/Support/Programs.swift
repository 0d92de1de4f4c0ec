import EventLoops
import Foundation
import TestSupport
import Testing

/// The timeout of a test that waits for an event; only a failure takes that long.
enum Patience {
    static let limit = Duration.seconds(30)

    struct Exhausted: Error, CustomStringConvertible {
        let description: String
    }

    /// Waits for the end of a process, which is killed after the timeout; returns its status.
    static func end(of process: ChildProcess) async throws -> Int32 {
        let alarm = Task {
            try await Task.sleep(for: limit)
            process.signal(SIGKILL)
        }
        defer { alarm.cancel() }
        return await process.status()
    }
}

/// The commands of this build.
enum Programs {
    static let watch = path(of: "presence-watch", variable: "PRESENCE_WATCH")
    static let chat = path(of: "presence-chat", variable: "PRESENCE_CHAT")
    static let presenced = path(of: "presenced", variable: "PRESENCED")

    /// As set by the variable, or in the build directory beside the tests.
    private static func path(of name: String, variable: String) -> String {
        if let path = ProcessInfo.processInfo.environment[variable], !path.isEmpty { return path }
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") } + [tests]
        let candidates = bundles.map { URL(filePath: $0).deletingLastPathComponent().path + "/\(name)" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) } ?? ".build/debug/\(name)"
    }

    /// The output and the exit status of a command.
    struct Result: Sendable {
        var status: Int32
        var output: [String]
        var complaints: String
    }

    /// Runs a command to its end.
    static func run(_ words: [String], environment: [String: String] = [:]) async throws -> Result {
        let place = try TemporaryDirectory()
        let log = place.file("stderr")
        let output = Locked<[String]>([])
        let process = try ChildProcess(words, environment: environment, complaints: log) { line in
            if let line { output.withLock { $0.append(line) } }
        }
        let status = try await Patience.end(of: process)
        return Result(
            status: status, output: output.withLock(\.self),
            complaints: try String(contentsOfFile: log, encoding: .utf8))
    }
}

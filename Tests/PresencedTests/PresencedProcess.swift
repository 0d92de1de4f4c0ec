import Foundation
import Testing

/// The `presenced` of this build, run as a user would run it; killed with all its children when the value is released.
final class PresencedProcess {
    /// Next to the tests' own bundle, unless PRESENCED names another.
    static let program: URL = {
        if let path = ProcessInfo.processInfo.environment["PRESENCED"] { return URL(filePath: path) }
        return URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "presenced")
    }()

    /// A process that does not behave as expected is killed after this time: a waiting test then fails.
    private static let longest: DispatchTimeInterval = .seconds(120)

    let process = Process()
    private let output = Pipe()
    private let errors = Pipe()

    /// - Parameter input: A file that is its standard input.
    /// - Parameter isRead: whether its output is read.
    init(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil, isRead: Bool = true
    ) throws {
        process.executableURL = Self.program
        process.arguments = arguments
        // All processes of a run get the sanitizers' options.
        let sanitizers = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"]
            .merging(sanitizers) { $1 }.merging(environment) { $1 }
        process.standardInput = input.flatMap { FileHandle(forReadingAtPath: $0) } ?? FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        if !isRead {
            try output.fileHandleForReading.close()
            try errors.fileHandleForReading.close()
        }
        try process.run()
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.longest) { [process] in
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
    }

    deinit {
        // The kernel ends its Redis with it.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// The first line on standard output; `nil` if it ends without one.
    func line() -> String? {
        var bytes: [UInt8] = []
        while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first {
            if byte == UInt8(ascii: "\n") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
        return nil
    }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for its end. Returns the status, and the rest of its output.
    func end() -> (status: Int32, output: String, errors: String) {
        let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complained = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, said, complained)
    }

    /// Runs the command to its end.
    static func run(_ arguments: String..., environment: [String: String] = [:]) throws
        -> (status: Int32, output: String, errors: String)
    {
        try PresencedProcess(arguments, environment: environment).end()
    }
}

/// A fresh data directory, removed when the value is released and no process runs in it.
final class DataScratch {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "presenced-\(UUID().uuidString)").path
    }

    deinit {
        for process in processes { kill(process, SIGKILL) }
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The processes whose working directory it is: a Redis, or a leftover.
    var processes: [pid_t] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return all.compactMap { pid_t($0) }.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\($0)/cwd")) == path
        }
    }
}

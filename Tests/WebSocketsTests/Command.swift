import TestSupport

/// Another program, with its output by lines.
///
/// Not Foundation's `Process`: where thousands of descriptors are open, it reads beyond its memory as it starts one.
enum Command {
    /// Starts it. It is killed when the process object is released, and has no input.
    static func start(_ arguments: String...) throws -> (process: ChildProcess, lines: AsyncStream<String>) {
        try start(arguments)
    }

    /// Runs it to its end. Returns its standard output. Its standard error is ours.
    static func run(_ arguments: String...) async throws -> String {
        let (process, lines) = try start(arguments)
        let output = await lines.reduce(into: "") { $0 += $1 + "\n" }
        _ = await process.status()
        return output
    }

    private static func start(_ arguments: [String]) throws -> (process: ChildProcess, lines: AsyncStream<String>) {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        let process = try ChildProcess(arguments) { line in
            if let line { continuation.yield(line) } else { continuation.finish() }
        }
        return (process, lines)
    }
}

import ArgumentParser
import Foundation

/// The output of a scenario's results.
struct ReportOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write the report as JSON too; - is standard output, then instead of text.", valueName: "file"))
    var json: String?

    @Flag(help: "Show progress also when standard error is not a terminal, a line every two seconds.")
    var progress = false

    /// Prints the report and writes its JSON; ends with status 1 if it has failures.
    func publish(_ report: some Report) throws {
        if json != "-" { print(report.text, terminator: "") }
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            let data = try encoder.encode(report) + Data("\n".utf8)
            if json == "-" {
                StandardFile.output.write(data)
            } else {
                do {
                    try data.write(to: URL(fileURLWithPath: json))
                } catch {
                    throw Failure("cannot write the report to \(json): \(error.localizedDescription)")
                }
            }
        }
        guard report.failures.isEmpty else {
            for failure in report.failures { StandardFile.errors.write(Data("failed: \(failure)\n".utf8)) }
            throw ExitCode(1)
        }
    }
}

/// The results of a scenario, for people and for programs.
protocol Report: Encodable {
    /// For people: some lines, each ended.
    var text: String { get }
    /// Unmet expectations, a sentence each; empty if the run succeeded.
    var failures: [String] { get }
}

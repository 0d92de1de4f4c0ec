import Foundation

/// The demo's text at its start: whom to watch, and the command for it.
struct DemoIntroduction {
    let text: String

    /// The number of people that fit on a screen.
    static let mostNamed = 40

    init(_ options: DemoCommand, people: [String], conversations: [String]) {
        let secret = options.server.secretFile.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
        let directory = secret ?? options.server.dataDir
        let named = people.prefix(Self.mostNamed)
        let circles = conversations.prefix(Self.mostNamed / DemoRun.circle + 1).map { "--conversation \($0)" }
        let lines = [
            "PRESENCE_TOKEN=$(\(Self.command("presenced")) token \(options.viewer) --data-dir \(directory))",
            "\(Self.command("presence-watch")) --url \(options.server.url)", circles.joined(separator: " "),
            named.joined(separator: " "),
        ]
        text = """
            \(formatted(people.count)) people come and go on \(options.server.url). To watch them:

              \(lines.filter { !$0.isEmpty }.joined(separator: " \\\n    "))

            A client that connects as \(options.viewer) takes part in their conversations.
            """
    }

    /// The path of a command of the same build, or its name if it is not beside this one.
    private static func command(_ name: String) -> String {
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return name
        }
        let path = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(name).path
        guard FileManager.default.isExecutableFile(atPath: path) else { return name }
        let here = FileManager.default.currentDirectoryPath + "/"
        return path.hasPrefix(here) ? String(path.dropFirst(here.count)) : path
    }
}

import Foundation

/// The command in an entered line.
enum ChatCommand: Hashable, Sendable {
    case send(String, isPriority: Bool = false)
    /// Edits the user's newest message.
    case edit(String)
    case delete
    /// Sends the file at a path.
    case attach(String)
    case retry, discard
    case mute, unmute, archive, leave
    case rename(String)
    case add([String])
    case help, quit
    case unknown(String)

    /// The list of commands, for users.
    static let helpText =
        "/priority TEXT  /edit TEXT  /delete  /attach FILE  /retry  /discard  /mute  /unmute  /archive  /name NAME  /add USER…  /leave  /quit"

    /// - Parameter line: a line that begins with two slashes is sent as text with one.
    init(_ line: String) {
        guard line.hasPrefix("/"), !line.hasPrefix("//") else {
            self = .send(line.hasPrefix("//") ? String(line.dropFirst()) : line)
            return
        }
        let words = line.dropFirst().split(separator: " ", maxSplits: 1).map(String.init)
        let rest = words.count > 1 ? words[1].trimmingCharacters(in: .whitespaces) : ""
        switch (words.first ?? "", rest.isEmpty) {
        case ("priority", false): self = .send(rest, isPriority: true)
        case ("edit", false): self = .edit(rest)
        case ("delete", true): self = .delete
        case ("attach", false): self = .attach(rest)
        case ("retry", true): self = .retry
        case ("discard", true): self = .discard
        case ("mute", true): self = .mute
        case ("unmute", true): self = .unmute
        case ("archive", true): self = .archive
        case ("name", false): self = .rename(rest)
        case ("add", false): self = .add(rest.split(separator: " ").map(String.init))
        case ("leave", true): self = .leave
        case ("help", true): self = .help
        case ("quit", true): self = .quit
        default: self = .unknown(line)
        }
    }
}

import ArgumentParser

/// An error for an unknown command, with the command that was probably meant. ArgumentParser reports only an unexpected
/// argument.
struct MistypedCommand {
    let sentence: String

    /// - Parameter arguments: The command line, without the program's name.
    init?(_ arguments: some Sequence<String>, of root: any ParsableCommand.Type) {
        var command: any ParsableCommand.Type = root
        var path: String = root._commandName
        for word in arguments {
            let known = command.configuration.subcommands
            guard !known.isEmpty, !word.hasPrefix("-"), word != "help" else { return nil }
            if let next = known.first(where: { $0._commandName == word }) {
                command = next
                path += " \(word)"
                continue
            }
            // A key path here crashes the compiler (6.3.1).
            let names = known.map { $0._commandName }
            let near = names.map { (name: $0, distance: Self.distance(word, $0)) }.min { $0.distance < $1.distance }
            let guess = near.flatMap { $0.distance <= 2 ? "; did you mean \"\($0.name)\"?" : nil }
            sentence = "\(path) has no command \"\(word)\"\(guess ?? ": there are \(names.joined(separator: ", "))")"
            return
        }
        return nil
    }

    /// How many letters must be added, removed, replaced or swapped with the next letter.
    static func distance(_ a: String, _ b: String) -> Int {
        let (a, b) = (Array(a), Array(b))
        var rows = [[Int]](repeating: Array(0...b.count), count: a.count + 1)
        for i in 0...a.count { rows[i][0] = i }
        guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
        for i in 1...a.count {
            for j in 1...b.count {
                rows[i][j] = min(
                    rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                    rows[i][j] = min(rows[i][j], rows[i - 2][j - 2] + 1)
                }
            }
        }
        return rows[a.count][b.count]
    }
}

import Yams

/// An error in a YAML text, described without quoting it, because its lines may contain a password.
struct YamlMistake: CustomStringConvertible {
    let description: String

    init(_ error: any Error) {
        description =
            switch error as? YamlError {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                "line \(mark.line), column \(mark.column): \(problem)"
            case .reader(let problem, let offset, _, _): problem + (offset.map { " (character \($0 + 1))" } ?? "")
            case .duplicatedKeysInMapping(let keys, let context):
                "line \(context.mark.line), column \(context.mark.column): twice in one group: "
                    + keys.map(Self.shown).joined(separator: ", ")
            case .memory: "it is too large"
            default: "it cannot be read"
            }
    }

    /// A key that is safe to show. Other texts are hidden: if a key was forgotten, the line begins with its value.
    static func shown(_ key: String) -> String {
        let isName = key.utf8.allSatisfy { 97...122 ~= $0 | 0x20 || 48...57 ~= $0 || "._-".utf8.contains($0) }
        return isName && key.utf8.count <= 64 ? key : "…"
    }
}

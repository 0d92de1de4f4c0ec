import CAssets

/// Functions that scripts share. A script is given those that it uses, because Redis runs it from its first line: each function
/// before it costs 0.1 µs a call, and all of those for messages cost 7.
///
/// A library is Lua in which what stands outside of functions begins in the first column, and all else does not, but for the
/// lines that end it. Of that, what begins with `local` is left out if nothing kept names what it declares. Names are compared
/// as words, wherever they stand: too much may be kept, but never too little.
package struct ScriptLibrary: Sendable {
    private let statements: [Statement]

    /// Files, in the order in which Redis is to have them.
    package init(_ files: asset...) { statements = files.flatMap { Self.statements(of: $0.text) } }

    init(_ text: String) { statements = Self.statements(of: text) }

    private init(statements: [Statement]) { self.statements = statements }

    package static func + (first: Self, second: Self) -> Self {
        Self(statements: first.statements + second.statements)
    }

    package static let none = Self(statements: [])

    /// `body` with what it needs before it, and no comments.
    func completing(_ body: String) -> String {
        let body = ScriptText.lines(of: body).joined(separator: "\n")
        var isKept = statements.map(\.declares.isEmpty)
        var seen = ScriptText.words(of: body)
        for statement in statements where statement.declares.isEmpty { seen.formUnion(statement.words) }
        var unfollowed = seen
        while let word = unfollowed.popFirst() {
            for (index, statement) in statements.enumerated() where !isKept[index] && statement.declares.contains(word) {
                isKept[index] = true
                unfollowed.formUnion(statement.words.subtracting(seen))
                seen.formUnion(statement.words)
            }
        }
        return zip(statements, isKept).filter(\.1).map { $0.0.text + "\n" }.joined() + body
    }

    private struct Statement {
        let text: String
        /// The names that `local` makes known. Other statements, which do something, have none.
        let declares: Set<String>
        let words: Set<String>
    }

    private static func statements(of text: String) -> [Statement] {
        var blocks: [[Substring]] = []
        for line in ScriptText.lines(of: text) {
            let goesOn = line.hasPrefix(" ") || line.hasPrefix("end") || line.hasPrefix("}") || line.hasPrefix(")")
            if goesOn, !blocks.isEmpty { blocks[blocks.count - 1].append(line) } else { blocks.append([line]) }
        }
        return blocks.map { lines in
            let text = lines.joined(separator: "\n")
            return Statement(text: text, declares: declared(by: lines[0]), words: ScriptText.words(of: text))
        }
    }

    /// Of `local function NAME(`, `local NAME, NAME = …` or `local NAME`.
    private static func declared(by line: Substring) -> Set<String> {
        let isFunction = line.hasPrefix("local function ")
        guard isFunction || line.hasPrefix("local ") else { return [] }
        let names = line.utf8.dropFirst(isFunction ? 15 : 6).prefix { $0 != UInt8(ascii: isFunction ? "(" : "=") }
        return ScriptText.words(of: String(Substring(names)))
    }
}

/// Lua as far as it is looked at here. Files are ASCII but for their comments and some strings, and are read as bytes.
private enum ScriptText {
    /// Those that are neither empty nor comments.
    static func lines(of text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "\n")).lazy.map(Substring.init).filter { line in
            !line.utf8.drop { $0 == UInt8(ascii: " ") }.starts(with: "--".utf8)
        }
    }

    static func words(of text: String) -> Set<String> {
        Set(text.utf8.split { !isOfWord($0) }.map { String(Substring($0)) })
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

import CAssets

/// Functions that scripts may use. A script gets only the functions that it needs, because Redis runs its text from the
/// first line: each definition of a function costs 0.1 µs a call, and all definitions for messages would cost 5 µs.
///
/// Every library contains the functions of all scripts (``common``). In its Lua files, every statement outside of
/// functions begins in the first column; of the other lines only those that end a statement do. A `local` statement in
/// the first column is omitted if no kept statement uses its names. Names are compared as words, wherever they occur:
/// this may keep too much, but never too little.
package struct ScriptLibrary: Sendable {
    private let statements: [Statement]
    /// Indices by declared name.
    private let places: [String: [Int]]
    /// For each statement, the indices of the statements that it needs.
    private let needs: [[Int]]

    /// The common functions, and files of a feature, in the order in which Redis gets them.
    package init(_ files: asset...) {
        self.init(Self.common.statements + files.flatMap { Self.statements(of: $0.text) })
    }

    init(_ text: String) { self.init(Self.statements(of: text)) }

    private init(_ statements: [Statement]) {
        var places: [String: [Int]] = [:]
        for (index, statement) in statements.enumerated() {
            for name in statement.declares { places[name, default: []].append(index) }
        }
        self.statements = statements
        self.places = places
        needs = statements.map { $0.words.flatMap { places[$0] ?? [] } }
    }

    package static func + (first: Self, second: Self) -> Self {
        Self(first.statements + second.statements.dropFirst(common.statements.count))
    }

    /// `lib.lua`, and `presence-lib.lua` of the sessions.
    package static let common = Self(asset_lib().text + "\n" + asset_presence_lib().text)

    /// Returns `body`, preceded by the statements that it needs, without comments.
    ///
    /// - Parameter prelude: Names the header's keys and arguments (``ScriptHeader/prelude``).
    func completing(_ body: String, after prelude: String = "") -> String {
        let body = prelude + ScriptText.lines(of: body).joined(separator: "\n")
        var isKept = Array(repeating: false, count: statements.count)
        var unfollowed = statements.indices.filter { statements[$0].declares.isEmpty }
        unfollowed += ScriptText.words(of: body).flatMap { places[$0] ?? [] }
        while let index = unfollowed.popLast() {
            guard !isKept[index] else { continue }
            isKept[index] = true
            unfollowed += needs[index]
        }
        return zip(statements, isKept).filter(\.1).map { $0.0.text + "\n" }.joined() + body
    }

    private struct Statement {
        let text: String
        /// The names that a `local` statement declares. Other statements have none.
        let declares: [String]
        let words: [String]
    }

    private static func statements(of text: String) -> [Statement] {
        var blocks: [[Substring]] = []
        for line in ScriptText.lines(of: text) {
            let goesOn = [" ", "end", "}", ")"].contains { line.utf8.starts(with: $0.utf8) }
            if goesOn, !blocks.isEmpty { blocks[blocks.count - 1].append(line) } else { blocks.append([line]) }
        }
        return blocks.map { lines in
            let text = lines.joined(separator: "\n")
            return Statement(text: text, declares: declared(by: lines[0]), words: ScriptText.words(of: text))
        }
    }

    /// Parses `local function NAME(`, `local NAME, NAME = …` or `local NAME`.
    private static func declared(by line: Substring) -> [String] {
        for (beginning, end) in [("local function ", "("), ("local ", "=")] where line.hasPrefix(beginning) {
            let names = line.utf8.dropFirst(beginning.utf8.count).prefix { $0 != end.utf8.first }
            return ScriptText.words(of: String(Substring(names)))
        }
        return []
    }
}

/// Minimal parsing of Lua. Files are ASCII except for comments and some strings, and are read as bytes.
private enum ScriptText {
    /// The lines that are neither empty nor comments.
    static func lines(of text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "\n")).lazy.map(Substring.init).filter { line in
            !line.utf8.drop { $0 == UInt8(ascii: " ") }.starts(with: "--".utf8)
        }
    }

    /// May contain a word more than once.
    static func words(of text: String) -> [String] {
        text.utf8.split { !isOfWord($0) }.map { String(Substring($0)) }
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }
}

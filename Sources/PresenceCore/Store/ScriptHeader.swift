/// The signature of a script: the comment lines at its beginning.
///
///     -- flags: no-writes
///     -- keys: user, account, each(picture)
///     -- args: name, each(user, read)
///     -- replies: OK(version, body) | CHANGED(name) | FENCED
///
/// - Each key NAME is the local `NAMEKey` in the body, each argument the local of its name. Further words explain a
///   name: `args: user, name or '', kept for so many ms`. Lines that begin with `--  ` continue the previous one.
/// - `each(…)` is last: any number of rows. `for user, read in each() do` iterates over the rows of the arguments;
///   `eachKey(3)` returns the keys of the third row.
/// - A script with the reply `FENCED` writes for a shard. It also has `shardsKey`, `floorKey`, `channel` (of the
///   partition's events) and `incarnation` (lib.lua), and begins only if its shard may write.
/// - `replies` are the first words of all the script's replies, except those of rejections before it begins.
package struct ScriptHeader: Sendable {
    let keys: Signature
    let arguments: Signature
    /// Empty for a script whose reply does not begin with a word.
    let replies: [String]
    var isFenced: Bool { replies.contains("FENCED") }

    /// The names, then the names in one row of `each(…)`.
    struct Signature: Sendable {
        var names: [String] = []
        var row: [String] = []
    }

    /// - Returns: `nil` for a body whose header has neither keys nor arguments.
    init?(_ body: String) {
        var lines: [Substring: String] = [:]
        var last: Substring?
        for line in body.utf8.split(separator: UInt8(ascii: "\n")).lazy.map(Substring.init) {
            guard line.hasPrefix("-- ") else { break }
            let text = line.dropFirst(3)
            if let name = ["keys", "args", "replies"].first(where: { text.hasPrefix($0 + ": ") }) {
                last = text.prefix(name.count)
                lines[last!, default: ""] += text.dropFirst(name.count + 1)
            } else if let last, text.hasPrefix("  ") {
                lines[last, default: ""] += text
            } else {
                last = nil
            }
        }
        guard lines["keys"] != nil || lines["args"] != nil else { return nil }
        keys = Signature(lines["keys"] ?? "")
        arguments = Signature(lines["args"] ?? "")
        replies = (lines["replies"] ?? "").split(separator: "|").compactMap { word in
            word.split { " (".contains($0) }.first.map(String.init)
        }
    }

    /// Lua code that names the keys and arguments, and rejects a shard that may not write.
    var prelude: String {
        // The first argument is the time, and all fenced scripts have two common keys and two common arguments.
        let (firstKey, firstArgument) = isFenced ? (3, 4) : (1, 2)
        var lines = [
            Self.declaration(of: keys.names.map { $0 + "Key" }, "KEYS", from: firstKey),
            Self.declaration(of: arguments.names, "ARGV", from: firstArgument),
        ]
        if isFenced { lines.append("if fenced(shardsKey, incarnation) then return { 'FENCED' } end") }
        if !arguments.row.isEmpty {
            let row = arguments.row
            let next = row.indices.map { $0 == 0 ? "ARGV[i]" : "ARGV[i + \($0)]" }.joined(separator: ", ")
            lines.append(
                """
                local function each()
                    local i = \(firstArgument + arguments.names.count - row.count)
                    return function() i = i + \(row.count) return \(next) end
                end
                """)
        }
        if !keys.row.isEmpty {
            let row = keys.row
            let place = (1...row.count).map {
                "KEYS[\(firstKey + keys.names.count - row.count - 1 + $0) + n * \(row.count)]"
            }
            lines.append("local function eachKey(n) return \(place.joined(separator: ", ")) end")
        }
        return lines.filter { !$0.isEmpty }.map { $0 + "\n" }.joined()
    }

    private static func declaration(of names: [String], _ list: String, from first: Int) -> String {
        guard !names.isEmpty else { return "" }
        let values = names.indices.map { "\(list)[\($0 + first)]" }
        return "local \(names.joined(separator: ", ")) = \(values.joined(separator: ", "))"
    }
}

extension ScriptHeader.Signature {
    /// Parses `user, keep in ms, each(picture, thumbnail)`: the first word between two commas is the name.
    fileprivate init(_ line: String) {
        func names(_ text: Substring) -> [String] {
            text.split(separator: ",").compactMap { $0.split(separator: " ").first.map(String.init) }
        }
        guard let start = line.firstRange(of: "each("), let end = line.lastIndex(of: ")") else {
            self.init(names: names(line[...]))
            return
        }
        self.init(names: names(line[..<start.lowerBound]), row: names(line[start.upperBound..<end]))
    }
}

import Foundation
import Installation
import PresenceCore
import PresenceServer
import Yams

/// A configuration file, checked for what must not be in it: a misspelled key is an error, and is not ignored.
struct ConfigurationFile {
    /// The keys in the file, groups included.
    private(set) var keys: Set<String> = []
    /// The texts of each setting in the file.
    private(set) var values: [String: [String]] = [:]
    private let path: String

    /// Checks that the file can be read, that each of its keys exists, and that each has a value of the right shape.
    ///
    /// - Returns: The keys in the file.
    /// - Throws: ``InvalidConfiguration`` naming the key, with its line, or the file.
    static func check(_ path: String) throws(InvalidConfiguration) -> Set<String> { try Self(path).keys }

    /// Reads and checks the file.
    init(_ path: String) throws(InvalidConfiguration) {
        self.path = path
        let root: Node?
        do {
            root = try compose(yaml: String(decoding: try Self.contents(path), as: UTF8.self))
        } catch let error as InvalidConfiguration {
            throw error
        } catch {
            throw InvalidConfiguration(key: path, reason: "the configuration file is not YAML: \(YamlMistake(error))")
        }
        // The file is empty, or everything in it is a comment: the defaults apply.
        guard let root, !Self.isNothing(root) else { return }
        guard case .mapping(let mapping) = root else {
            throw InvalidConfiguration(key: path, reason: "the configuration file must be a YAML mapping")
        }
        try walk(mapping, below: "")
    }

    private static func contents(_ path: String) throws(InvalidConfiguration) -> Data {
        guard let file = fopen(path, "re") else {
            throw InvalidConfiguration(
                key: path, reason: "the configuration file cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var data = Data()
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&part, 1, part.count, file)
            data.append(contentsOf: part[..<count])
            guard count == 0 else { continue }
            guard ferror(file) == 0 else {
                throw InvalidConfiguration(
                    key: path, reason: "the configuration file cannot be read: \(String(cString: strerror(errno)))")
            }
            return data
        }
    }

    /// `key:` with nothing behind it, or `~`.
    private static func isNothing(_ node: Node) -> Bool {
        guard case .scalar(let scalar) = node else { return false }
        return node.tag == Tag(.null) || scalar.style == .plain && scalar.string.isEmpty
    }

    private mutating func walk(_ mapping: Node.Mapping, below prefix: String) throws(InvalidConfiguration) {
        let path = path
        for (nameNode, value) in mapping {
            let name = nameNode.scalar?.string ?? "?"
            let key = prefix + name
            let shown = prefix + YamlMistake.shown(name)
            func invalid(_ reason: String, lines: String = "") -> InvalidConfiguration {
                let line = nameNode.mark.map { ", line \($0.line)" } ?? ""
                return InvalidConfiguration(key: shown, reason: "\(reason) (\(path)\(line))\(lines)")
            }
            guard keys.insert(key).inserted else { throw invalid("is there twice") }
            let isGroup = ServerConfiguration.settings.contains { $0.key.hasPrefix(key + ".") }
            // A dot in a name would be read as a path.
            let setting =
                name.contains(".") ? nil : ServerConfiguration.settings.first { $0.key.utf8.elementsEqual(key.utf8) }
            switch (setting, value) {
            case (nil, .mapping(let group)) where isGroup && !name.contains("."):
                try walk(group, below: key + ".")
            // Everything below this group is a comment.
            case (nil, _) where isGroup && !name.contains(".") && Self.isNothing(value): break
            case (nil, _)
            where name.contains(".") && (isGroup || ServerConfiguration.settings.contains { $0.key == key }):
                throw invalid(
                    "unknown key: a dot stands for a group", lines: ". Write:" + Self.nested(name, below: prefix))
            case (nil, _) where isGroup: throw invalid("must be a group of keys")
            case (nil, _): throw invalid("unknown key" + Self.suggestion(for: key))
            case (let setting?, .sequence(let list)) where !setting.columns.isEmpty:
                do throws(Mistake) {
                    values[key] = try list.map { (node) throws(Mistake) in try Self.row(node, of: setting.columns) }
                } catch {
                    throw invalid(error.text)
                }
            case (let setting?, _) where !setting.columns.isEmpty:
                let names = setting.columns.map { NamedColumn($0).name }
                throw invalid("must be a list of mappings with " + names.joined(separator: ", "))
            case (let setting?, .sequence(let list)) where setting.isList && list.allSatisfy { $0.scalar != nil }:
                values[key] = list.compactMap { $0.scalar?.string }
            case (let setting?, _) where setting.isList: throw invalid("must be a list of texts, as in []")
            case (_?, .scalar(let scalar)):
                // To get the default, the key is left out.
                guard !Self.isNothing(value) else { throw invalid("has no value") }
                values[key] = [scalar.string]
            default: throw invalid("must be a single value")
            }
        }
    }

    private struct Mistake: Error {
        let text: String
    }

    /// A mapping of a list as one text: its columns with a space between two.
    private static func row(_ node: Node, of columns: [String]) throws(Mistake) -> String {
        let named = columns.map { NamedColumn($0) }
        guard !named.contains(where: \.isMarked) else { return try row(node, named: named) }
        let found = try members(of: node, known: columns, lists: [columns.last ?? ""], required: columns.dropLast())
        return columns.flatMap { found[$0] ?? [] }.joined(separator: " ")
    }

    /// A mapping of a list as one text, whose words have the columns' names: `NAME=VALUE`, one for each text of a list. A space in
    /// a value is written `%20`, and a percent sign `%25`.
    private static func row(_ node: Node, named columns: [NamedColumn]) throws(Mistake) -> String {
        let found = try members(
            of: node, known: columns.map(\.name), lists: columns.filter(\.isList).map(\.name),
            required: columns.filter(\.isNeeded).map(\.name), mayHaveSpaces: true)
        return columns.flatMap { column in
            (found[column.name] ?? []).map { text in
                column.name + "=" + text.replacing("%", with: "%25").replacing(" ", with: "%20")
            }
        }.joined(separator: " ")
    }

    /// A column of a list whose mappings have optional keys: `issuer?` may be missing, `clientIds[]` is a list.
    private struct NamedColumn {
        let name: String
        let isList: Bool
        let isNeeded: Bool
        /// Whether it has such a mark.
        let isMarked: Bool

        init(_ text: String) {
            isNeeded = !text.hasSuffix("?")
            let rest = isNeeded ? text : String(text.dropLast())
            isList = rest.hasSuffix("[]")
            name = isList ? String(rest.dropLast(2)) : rest
            isMarked = name != text
        }
    }

    private static func members(
        of node: Node, known: [String], lists: [String], required: some Sequence<String>, mayHaveSpaces: Bool = false
    ) throws(Mistake) -> [String: [String]] {
        guard case .mapping(let mapping) = node else {
            throw Mistake(text: "must be a list of mappings with " + known.joined(separator: ", "))
        }
        var found: [String: [String]] = [:]
        for (name, value) in mapping {
            let name = name.scalar?.string ?? "?"
            guard known.contains(name) else {
                throw Mistake(
                    text: "has the unknown key \(YamlMistake.shown(name)): known are " + known.joined(separator: ", "))
            }
            guard found[name] == nil else { throw Mistake(text: "has \(name) twice in one entry") }
            let isList = lists.contains(name)
            let texts = isList ? value.sequence?.map { $0.scalar?.string ?? "" } : value.scalar.map { [$0.string] }
            func isGood(_ text: String) -> Bool {
                !text.isEmpty && !text.contains { $0.isWhitespace && !($0 == " " && mayHaveSpaces) }
            }
            guard let texts, !texts.isEmpty, texts.allSatisfy(isGood) else {
                let what = isList ? "a list of texts" : "one text"
                throw Mistake(
                    text: "has a bad \(name): it must be \(what) without \(mayHaveSpaces ? "line breaks" : "spaces")")
            }
            found[name] = texts
        }
        for name in required where found[name] == nil { throw Mistake(text: "has an entry without \(name)") }
        return found
    }

    /// A dotted name as it is written in the file: a line for each of its groups. Values are not repeated, because one
    /// may be a password.
    private static func nested(_ name: String, below prefix: String) -> String {
        let depth = prefix.split(separator: ".").count
        let words = name.split(separator: ".")
        return words.enumerated().map { index, word in
            "\n" + String(repeating: "  ", count: depth + index) + word + (index < words.count - 1 ? ":" : ": …")
        }.joined()
    }

    /// The known key that was probably meant: a key that differs only in case, or has the same last name.
    private static func suggestion(for key: String) -> String {
        let last = key.split(separator: ".").last.map { $0.lowercased() }
        let meant =
            ServerConfiguration.settings.first { $0.key.lowercased() == key.lowercased() }
            ?? ServerConfiguration.settings.first { $0.key.split(separator: ".").last.map { $0.lowercased() } == last }
        return meant.map { ": is \($0.key) meant?" } ?? ""
    }
}

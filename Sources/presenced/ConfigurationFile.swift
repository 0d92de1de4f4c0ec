import Foundation
import Installation
import PresenceCore
import PresenceServer
import Yams

/// A configuration file, looked through for what must not be in it.
///
/// The reader of the configuration asks for the keys that it knows and would never see a misspelled one.
enum ConfigurationFile {
    /// Checks that the file can be read, that each of its keys is one that there is and has a value of the right shape.
    ///
    /// - Returns: The keys that it has.
    /// - Throws: ``InvalidConfiguration`` naming the key, with its line, or the file.
    static func check(_ path: String) throws(InvalidConfiguration) -> Set<String> {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw InvalidConfiguration(key: path, reason: "the configuration file cannot be read")
        }
        let root: Node?
        do {
            root = try compose(yaml: String(decoding: data, as: UTF8.self))
        } catch {
            throw InvalidConfiguration(key: path, reason: "the configuration file is not YAML: \(error)")
        }
        guard case .mapping(let mapping) = root else {
            throw InvalidConfiguration(key: path, reason: "the configuration file must be a YAML mapping")
        }
        var keys: Set<String> = []
        try walk(mapping, below: "", in: path, &keys)
        return keys
    }

    private static func walk(
        _ mapping: Node.Mapping, below prefix: String, in path: String, _ keys: inout Set<String>
    ) throws(InvalidConfiguration) {
        for (nameNode, value) in mapping {
            let name = nameNode.scalar?.string ?? "?"
            let key = prefix + name
            func invalid(_ reason: String) -> InvalidConfiguration {
                let line = nameNode.mark.map { ", line \($0.line)" } ?? ""
                return InvalidConfiguration(key: key, reason: "\(reason) (\(path)\(line))")
            }
            guard keys.insert(key).inserted else { throw invalid("is there twice") }
            let isGroup = Setting.all.contains { $0.key.hasPrefix(key + ".") }
            // A dot in a name would be read as a path.
            let setting = name.contains(".") ? nil : Setting.all.first { $0.key.utf8.elementsEqual(key.utf8) }
            switch (setting, value) {
            case (nil, .mapping(let group)) where isGroup && !name.contains("."):
                try walk(group, below: key + ".", in: path, &keys)
            case (nil, _) where isGroup: throw invalid("must be a group of keys")
            case (nil, _): throw invalid("unknown key" + suggestion(for: key))
            case (let setting?, .sequence(let list)) where setting.isList && list.allSatisfy { $0.scalar != nil }: break
            case (let setting?, _) where setting.isList: throw invalid("must be a list of texts, as in []")
            case (_?, .scalar(let scalar)):
                // `key:` with nothing behind it, or `~`: for the default the key is left out.
                guard value.tag != Tag(.null), !(scalar.style == .plain && scalar.string.isEmpty) else {
                    throw invalid("has no value")
                }
            default: throw invalid("must be a single value")
            }
        }
    }

    /// The known key that was probably meant: one that differs in case only, or has the same last name.
    private static func suggestion(for key: String) -> String {
        let last = key.split(separator: ".").last.map { $0.lowercased() }
        let meant =
            Setting.all.first { $0.key.lowercased() == key.lowercased() }
            ?? Setting.all.first { $0.key.split(separator: ".").last.map { $0.lowercased() } == last }
        return meant.map { ": is \($0.key) meant?" } ?? ""
    }
}

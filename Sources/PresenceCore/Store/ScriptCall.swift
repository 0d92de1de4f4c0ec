import PresenceProtocol
import Redis

/// A call of a script. Keys and arguments are given by the names in its header, in their order there.
///
///     ScriptCall(.rename, in: keys, ["conversation": keys.conversation(id)], ["user": user, "name": name])
///
/// The common ones of shards' scripts are added (``ScriptHeader``). A debug build, as used by all tests, checks the names.
package struct ScriptCall {
    package let script: Script
    package let keys: [String]
    let arguments: [String]
    /// The session that requests the change, for logs.
    let session: String?

    /// - Parameters:
    ///   - partition: The partition of all keys; `nil` for a script without `FENCED`.
    ///   - each: The values of the header's `each(…)`, row after row.
    ///   - eachKey: The rows of the `each(…)` among the keys.
    ///   - writer: The user whose token authorises the change; `nil` for a backend or the server itself.
    ///   - readsUser: Whether the script reads the user's record anyway, and checks `user.isRevoked` itself.
    package init(
        _ script: Script, in partition: PartitionKeys? = nil, _ keys: KeyValuePairs<StaticString, String> = [:],
        _ arguments: KeyValuePairs<StaticString, any ScriptArgument> = [:], each: [any ScriptArgument] = [],
        eachKey: [String] = [], by writer: Writer? = nil, readsUser: Bool = false
    ) {
        #if DEBUG
            guard let header = script.header else { preconditionFailure("the script \(script) has no header") }
            header.keys.check(keys.map(\.key), eachKey.count, "keys", of: script)
            header.arguments.check(arguments.map(\.key), each.count, "arguments", of: script)
        #endif
        self.script = script
        session = writer?.session
        var words: [String] = []
        words.reserveCapacity(keys.count + eachKey.count + 6)
        if let partition, script.isFenced {
            words.append(partition.shards)
            words.append(partition.floor)
        }
        for (_, key) in keys { words.append(key) }
        words += eachKey
        writer?.addKeys(to: &words, readsUser: readsUser)
        self.keys = words
        words = []
        words.reserveCapacity(arguments.count + each.count + 2)
        // The incarnation is that of the calling shard (`arguments(of:)`).
        if let partition, script.isFenced {
            words.append(partition.events)
            words.append("")
        }
        for (_, argument) in arguments { words.append(argument.scriptText) }
        for argument in each { words.append(argument.scriptText) }
        self.arguments = words
    }

    /// The arguments for a shard with this incarnation.
    package func arguments(of incarnation: String) -> [String] {
        guard script.isFenced else { return arguments }
        var arguments = arguments
        arguments[1] = incarnation
        return arguments
    }
}

/// A value as an argument of a script: a text.
package protocol ScriptArgument {
    var scriptText: String { get }
}

extension String: ScriptArgument { package var scriptText: String { self } }
extension Substring: ScriptArgument { package var scriptText: String { String(self) } }
extension Int: ScriptArgument { package var scriptText: String { String(self) } }
extension Int64: ScriptArgument { package var scriptText: String { String(self) } }
extension UInt64: ScriptArgument { package var scriptText: String { String(self) } }
/// `1` or empty.
extension Bool: ScriptArgument { package var scriptText: String { self ? "1" : "" } }
extension Identifier: ScriptArgument { package var scriptText: String { string } }
/// Text in UTF-8.
extension [UInt8]: ScriptArgument { package var scriptText: String { String(decoding: self, as: UTF8.self) } }
/// Empty for `nil`.
extension Optional: ScriptArgument where Wrapped: ScriptArgument {
    package var scriptText: String { self?.scriptText ?? "" }
}

/// The reply of a script that is called by names: a word, followed by values.
package struct ScriptReply {
    package let word: String
    private let values: [RedisValue]

    package init(_ value: RedisValue) {
        values = value.array ?? []
        word = values.first?.string ?? ""
    }

    /// The word and all values.
    package var value: RedisValue { .array(values) }
    /// The number of values after the word.
    package var count: Int { max(0, values.count - 1) }
    /// The `place`th value after the word, from 0 on; null if there is none.
    package subscript(place: Int) -> RedisValue { place + 1 < values.count ? values[place + 1] : .null }
    /// All values after the word.
    package var rest: ArraySlice<RedisValue> { values.dropFirst() }
}

#if DEBUG
    extension ScriptHeader.Signature {
        fileprivate func check(_ given: [StaticString], _ each: Int, _ what: String, of script: Script) {
            let given = given.map { "\($0)" }
            precondition(given == names, "the \(what) of \(script) are \(names), not \(given)")
            precondition(
                row.isEmpty ? each == 0 : each.isMultiple(of: row.count),
                "the \(what) of \(script) come in rows of \(row), not \(each) values")
        }
    }
#endif

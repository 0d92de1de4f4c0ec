import Foundation
import PresenceKit

// JSON objects, as the server keeps and sends them.
extension InMemoryServer {
    static func bytes(_ object: Object) -> [UInt8] {
        // Cannot fail: objects of the server, or of a decoded message.
        [UInt8](try! JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]))
    }

    /// The members of an object, without those that are null.
    static func object(_ bytes: some Collection<UInt8>) -> Object? {
        let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
        return value?.plain as? Object
    }
}

extension JSONValue {
    /// Arrays of one kind of values have its type.
    fileprivate var plain: (any Sendable)? {
        switch self {
        case .null: return nil
        case .bool(let flag): return flag
        case .number(let number): return Int(exactly: number) ?? number
        case .string(let text): return text
        case .object(let members): return members.compactMapValues(\.plain) as InMemoryServer.Object
        case .array(let array):
            let values = array.compactMap(\.plain)
            if let texts = values as? [String] { return texts }
            if let numbers = values as? [Int] { return numbers }
            if let objects = values as? [InMemoryServer.Object] { return objects }
            return values
        }
    }
}

extension InMemoryServer.Object {
    /// A member that the server itself has set.
    func number(_ name: String) -> Int { self[name] as? Int ?? 0 }
}

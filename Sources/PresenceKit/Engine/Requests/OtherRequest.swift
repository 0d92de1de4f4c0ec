import Foundation
import PresenceProtocol

/// A request of a type that this library does not know. An attached library made it and reads the reply.
struct OtherRequest: Hashable, Sendable {
    let type: String
    /// A JSON object.
    let members: Data

    func encoded(id: Int64?) -> [UInt8] {
        var bytes = Array("{\"type\":".utf8)
        JSONWriter.string(type, to: &bytes)
        if let id { bytes += Array(",\"id\":\(id)".utf8) }
        let members = members.drop { $0 != UInt8(ascii: "{") }.dropFirst()
        if members.contains(UInt8(ascii: ":")) { bytes.append(UInt8(ascii: ",")) }
        return bytes + members
    }
}

/// An event for attached libraries, in the order in which they happen.
package enum LibraryEvent: Hashable, Sendable {
    /// There is a new connection, of this user. Subscriptions of earlier connections no longer exist.
    case connected(user: String)
    /// An event of the server, as raw bytes.
    case event(type: String, Data)
    /// The user signed out or changed: the library must drop the user's data. The queue of writes is already deleted.
    case forgotten
}

import Foundation
import PresenceProtocol

/// A request of a type that this library does not know: another one on top of it does, and reads the answer.
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

/// What another library is told, in the order in which it happens.
package enum LibraryEvent: Hashable, Sendable {
    /// There is a new connection, of this user: nothing that was asked for on an earlier one holds on it.
    case connected(user: String)
    /// An event of the server, as it came.
    case event(type: String, Data)
    /// The user signed out, or another one comes: what belonged to them goes, the queue of writes has gone.
    case forgotten
}

import Foundation
import PresenceProtocol

/// A request of a type that this library does not know. An attached library made it and reads the reply.
struct OtherRequest: Hashable, Sendable {
    let type: String
    /// The user whose request it is.
    let user: UserNumber
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

/// The number of a client's user, incremented whenever a user's data is dropped: by a sign-out or a change of user. A
/// library may notice that later than the client; by this number the client recognizes a former user's request.
package typealias UserNumber = Int

/// An event for attached libraries, in the order in which they happen.
package enum LibraryEvent: Hashable, Sendable {
    /// The library is attached, and makes its requests with this number until the user changes.
    case attached(UserNumber)
    /// The user is known as well as without a connection: by the account or the token, otherwise (`nil`) there is no
    /// token so far. The data of an earlier process may be shown now, unless it is another user's.
    case identified(user: String?)
    /// There is a new connection, of this user. Subscriptions of earlier connections no longer exist.
    case connected(user: String)
    /// An event of the server, as raw bytes.
    case event(type: String, Data)
    /// The user signed out or changed: the library must drop the user's data, and makes its requests with this number.
    /// If only a token names the `next` user, pending writes stay until the server has confirmed the user.
    case forgotten(UserNumber, next: String?)
    /// The app closed the client for good: the library must end its loops and tasks.
    case closed
}

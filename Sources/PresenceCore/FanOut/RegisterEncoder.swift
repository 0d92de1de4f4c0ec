import PresenceProtocol
import WebSockets

/// Assembles a register's event, once for all watchers: `{"type":…,"user":…,"presence":{"version":V,BODY,"at":T}`.
package enum RegisterEncoder {
    /// The event of a register whose body came from Redis. `body` is everything after the version, with the closing brace.
    package static func event(
        _ kind: RegisterKind, user: UserID, version: Int64, body: UnsafeRawBufferPointer, at: Timestamp
    ) -> Register {
        var payload: [UInt8] = []
        payload.reserveCapacity(body.count + user.string.utf8.count + 96)
        let object = open(kind, user, &payload)
        appendObject(version: version, body: body, to: &payload)
        return close(&payload, object: object, version: version, at: at)
    }

    /// The event of a register whose object is already encoded.
    package static func event(
        _ kind: RegisterKind, user: UserID, object bytes: [UInt8], version: Int64, at: Timestamp
    ) -> Register {
        var payload: [UInt8] = []
        payload.reserveCapacity(bytes.count + user.string.utf8.count + 96)
        let object = open(kind, user, &payload)
        payload += bytes
        return close(&payload, object: object, version: version, at: at)
    }

    /// The event of a register that no longer exists or may no longer be seen.
    package static func unknown(_ kind: RegisterKind, user: UserID, at: Timestamp) -> Register {
        var payload: [UInt8] = []
        let object = open(kind, user, &payload)
        payload += kind == .presence ? Array(#"{"version":0,"status":"offline"}"#.utf8) : Array("null".utf8)
        return close(&payload, object: object, version: 0, at: at)
    }

    /// A register as read from Redis: its object, without an event around it.
    package static func object(version: Int64, body: [UInt8]) -> Register {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + 32)
        body.withUnsafeBytes { appendObject(version: version, body: $0, to: &bytes) }
        return Register(version: version, bytes: bytes, object: 0..<bytes.count)
    }

    /// Whether the body is valid after a version in an object for clients. Scripts assemble bodies from values in
    /// Redis, so a damaged value there would appear in the scripts' events too.
    package static func isBody(_ body: UnsafeRawBufferPointer) -> Bool {
        guard body.first == UInt8(ascii: "\"") else { return false }
        var scanner = JSONScanner(members: body)
        do throws(JSONError) {
            while try scanner.nextKey() != nil { _ = try scanner.value() }
            try scanner.finish()
            return true
        } catch {
            return false
        }
    }

    private static func open(_ kind: RegisterKind, _ user: UserID, _ payload: inout [UInt8]) -> Int {
        JSONWriter.raw(kind == .presence ? #"{"type":"presence","user":"# : #"{"type":"profile","user":"#, to: &payload)
        JSONWriter.string(user.string, to: &payload)
        JSONWriter.raw(kind == .presence ? #","presence":"# : #","profile":"#, to: &payload)
        return payload.count
    }

    private static func appendObject(version: Int64, body: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        JSONWriter.raw(#"{"version":"#, to: &bytes)
        JSONWriter.integer(version, to: &bytes)
        JSONWriter.raw(",", to: &bytes)
        bytes.append(contentsOf: body)
    }

    private static func close(_ payload: inout [UInt8], object start: Int, version: Int64, at: Timestamp) -> Register {
        let end = payload.count
        JSONWriter.raw(#","at":"#, to: &payload)
        JSONWriter.integer(at, to: &payload)
        JSONWriter.raw("}", to: &payload)
        let frame = WebSocketFrame.text(payload)
        let header = frame.count - payload.count
        return Register(version: version, bytes: frame, object: start + header..<end + header)
    }
}

package enum RegisterKind {
    case presence, profile
}

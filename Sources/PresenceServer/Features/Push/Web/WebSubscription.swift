import Foundation
import PresenceCore
import PresenceProtocol
import Signing

/// A subscription of a browser or a UnifiedPush app: where pushes are sent, and the keys that encrypt them.
///
/// A device's record has it as JSON, always written in the same way: scripts compare it as text.
struct WebSubscription: Decodable, Sendable, Equatable {
    let endpoint: String
    private let keys: Keys

    private struct Keys: Decodable, Equatable {
        let auth: String
        let p256dh: String
    }

    /// Endpoints of browsers have some 200 to 500 bytes.
    private static let mostBytes = 1_024

    /// - Parameter json: The object `subscription` of a request. Other members, such as `expirationTime`, are ignored.
    init(json: [UInt8]) throws(DecodingFailure) {
        let object = try RequestObject(json: json)
        endpoint = try Self.text("endpoint", of: object, "subscription")
        guard let keys = try object.optionalObject("keys") else { throw .missing("subscription.keys") }
        let members = try RequestObject(json: keys)
        self.keys = Keys(
            auth: try Self.text("auth", of: members, "subscription.keys"),
            p256dh: try Self.text("p256dh", of: members, "subscription.keys"))
        guard Endpoint(endpoint) != nil, endpoint.utf8.count <= Self.mostBytes else {
            throw .invalid(
                "subscription.endpoint",
                "must be https://HOST/… of at most \(Self.mostBytes) bytes, without user or fragment")
        }
    }

    /// `nil` for a device of another platform.
    init?(device: RequestObject) throws(DecodingFailure) {
        guard try device.optionalText("platform") == WebPush.platform else { return nil }
        guard let json = try device.optionalObject("subscription") else {
            guard device.has("pushToken") else { throw .missing("subscription") }
            throw .invalid("platform", "web has a subscription, and no pushToken")
        }
        try self.init(json: json)
    }

    private static func text(
        _ field: String, of object: RequestObject, _ parent: String
    ) throws(DecodingFailure) -> String {
        do throws(DecodingFailure) {
            return try object.text(field)
        } catch {
            throw DecodingFailure(code: error.code, message: "\(parent).\(error.message)", field: "\(parent).\(field)")
        }
    }

    /// As a device's record has it; `nil` for a text that no server has written.
    init?(text: String) {
        guard let subscription = try? JSONDecoder().decode(WebSubscription.self, from: Data(text.utf8)) else {
            return nil
        }
        self = subscription
    }

    var text: String {
        var json = Array(#"{"endpoint":"#.utf8)
        JSONWriter.string(endpoint, to: &json)
        JSONWriter.raw(#","keys":{"auth":"#, to: &json)
        JSONWriter.string(keys.auth, to: &json)
        JSONWriter.raw(#","p256dh":"#, to: &json)
        JSONWriter.string(keys.p256dh, to: &json)
        JSONWriter.raw("}}", to: &json)
        return String(decoding: json, as: UTF8.self)
    }

    /// Where it is; `nil` if the record is damaged.
    var place: Endpoint? { Endpoint(endpoint) }

    /// `nil` unless both keys are base64url without padding, of the right lengths, and the point is on the curve. Takes some
    /// 100 µs.
    var encryption: PushEncryption? {
        guard let point = Base64URL.decode(Array(keys.p256dh.utf8)[...]), let auth = secret else { return nil }
        return PushEncryption(point: point, secret: auth)
    }

    /// Known to the subscriber and this installation alone.
    var secret: [UInt8]? { Base64URL.decode(Array(keys.auth.utf8)[...]) }

    /// An address of a push service, read strictly, so that libcurl finds the same host in it.
    struct Endpoint: Equatable {
        /// In lower case.
        let host: String
        /// `https://HOST`, with a port other than 443.
        let origin: String

        private static let scheme = "https://"

        init?(_ text: String) {
            guard text.lowercased().hasPrefix(Self.scheme) else { return nil }
            let rest = text.utf8.dropFirst(Self.scheme.utf8.count)
            let authority = rest.prefix { $0 != 0x2F && $0 != 0x3F }
            let name = authority.prefix { $0 != 0x3A }
            guard (1...253).contains(name.count), name.allSatisfy(Self.isOfHost),
                rest[authority.endIndex...].allSatisfy(Self.isOfPath)
            else { return nil }
            host = String(decoding: name, as: UTF8.self).lowercased()
            guard authority.count > name.count else {
                origin = Self.scheme + host
                return
            }
            let digits = authority[name.endIndex...].dropFirst()
            guard (1...5).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
                let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
            else { return nil }
            origin = Self.scheme + host + (port == 443 ? "" : ":\(port)")
        }

        /// Letters, digits, hyphens, dots, and underscores.
        private static func isOfHost(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }

        /// The characters of a path and a query (RFC 3986, appendix A).
        private static func isOfPath(_ byte: UInt8) -> Bool {
            isOfHost(byte) || "/?%~!$&'()*+,;=:@".utf8.contains(byte)
        }
    }
}

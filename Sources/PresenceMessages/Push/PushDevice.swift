import Foundation
import PresenceKit

/// Where a push service reaches this device.
public struct PushDevice: Codable, Hashable, Sendable {
    /// The push service.
    public enum Platform: String, Codable, Hashable, Sendable {
        /// Firebase Cloud Messaging.
        case fcm
        /// Apple's.
        case apns
    }

    /// What the push service calls this device: 1 to 1,024 bytes of printable ASCII without spaces. APNs' tokens are bytes,
    /// in hexadecimal here.
    public let token: String
    /// Whose token it is.
    public let platform: Platform

    /// Makes one of a token as text.
    public init(token: String, platform: Platform) {
        (self.token, self.platform) = (token, platform)
    }

    /// What `Messaging.messaging().token()` gives.
    public static func fcm(_ token: String) -> PushDevice { PushDevice(token: token, platform: .fcm) }

    /// What `didRegisterForRemoteNotificationsWithDeviceToken` gives.
    public static func apns(_ token: Data) -> PushDevice {
        let digits = Array("0123456789abcdef")
        let text = token.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return PushDevice(token: String(text), platform: .apns)
    }

    /// Looks at what no server takes.
    ///
    /// - Throws: `validationFailed` with the field `pushToken`.
    public func check() throws(PresenceError) {
        guard (1...1_024).contains(token.utf8.count), token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            let rule = "pushToken must be 1 to 1,024 printable ASCII characters without spaces"
            throw PresenceError(.validationFailed, rule, field: "pushToken")
        }
    }
}

import Foundation
import PresenceKit

/// The address of this device at a push service.
public struct PushDevice: Codable, Hashable, Sendable {
    /// The push service.
    public enum Platform: String, Codable, Hashable, Sendable {
        /// Firebase Cloud Messaging.
        case fcm
        /// Apple Push Notification service.
        case apns
    }

    /// The token from the push service: 1 to 1,024 bytes of printable ASCII without spaces. Tokens of APNs are bytes,
    /// in hexadecimal here.
    public let token: String
    /// The push service of the token.
    public let platform: Platform

    /// Creates a device from a token as text.
    public init(token: String, platform: Platform) {
        (self.token, self.platform) = (token, platform)
    }

    /// Creates a device from the result of `Messaging.messaging().token()`.
    public static func fcm(_ token: String) -> PushDevice { PushDevice(token: token, platform: .fcm) }

    /// Creates a device from the token passed to `didRegisterForRemoteNotificationsWithDeviceToken`.
    public static func apns(_ token: Data) -> PushDevice {
        let digits = Array("0123456789abcdef")
        let text = token.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return PushDevice(token: String(text), platform: .apns)
    }

    /// Validates the token, because no server accepts an invalid one.
    ///
    /// - Throws: `validationFailed` with the field `pushToken`.
    public func check() throws(PresenceError) {
        guard (1...1_024).contains(token.utf8.count), token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            let rule = "pushToken must be 1 to 1,024 printable ASCII characters without spaces"
            throw PresenceError(.validationFailed, rule, field: "pushToken")
        }
    }
}

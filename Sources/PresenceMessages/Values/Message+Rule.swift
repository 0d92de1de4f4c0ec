import Foundation
import PresenceKit

extension Message {
    /// The server's rules for messages, so that the library rejects an invalid message before it stores it.
    public enum Rule {
        /// The longest text, in user-perceived characters.
        public static let maximumCharacters = 5_000
        /// The longest text, in bytes of UTF-8.
        public static let maximumBytes = 20 * 1_024
        /// The most attachments of one message.
        public static let maximumAttachments = 10
        /// The longest reason for a priority, in characters.
        public static let maximumReasonCharacters = 200
        /// The longest mute with an end.
        public static let maximumMuting = Duration.seconds(366 * 86_400)

        /// Validates a message.
        ///
        /// - Throws: `validationFailed` with the field `text`, `attachments` or `priority`.
        public static func check(
            text: String, attachments: [MessageAttachment] = [], priorityReason: String? = nil
        ) throws(PresenceError) {
            if text.isEmpty, attachments.isEmpty { throw invalid("text", "must not be empty") }
            guard text.utf8.count <= maximumBytes else {
                throw invalid("text", "must be at most \(maximumBytes) bytes long")
            }
            guard text.count <= maximumCharacters else {
                throw invalid("text", "must be at most \(maximumCharacters) characters long")
            }
            guard isClean(text, lines: true) else {
                throw invalid("text", "must be without control characters other than line breaks and tabs")
            }
            guard attachments.count <= maximumAttachments else {
                throw invalid("attachments", "must be at most \(maximumAttachments)")
            }
            for attachment in attachments {
                let urls = [attachment.url, attachment.thumbnailURL].compactMap(\.self)
                guard urls.allSatisfy(PresenceClient.isValidURL) else {
                    throw invalid(
                        "attachments",
                        "must have absolute https URLs of at most 2,048 bytes (http for loopback hosts only)"
                    )
                }
                guard (0...largestNumber).contains(attachment.sizeBytes) else {
                    throw invalid("attachments", "must have sizes from 0 to \(largestNumber) bytes")
                }
                guard PresenceClient.isValidID(attachment.id) else {
                    throw invalid("attachments", "must have ids, of 1 to 128 printable ASCII characters")
                }
            }
            if let reason = priorityReason, reason.count > maximumReasonCharacters || !isClean(reason, lines: false) {
                throw invalid(
                    "priority",
                    "must have a reason of at most \(maximumReasonCharacters) characters without control ones")
            }
        }

        /// The fault of a text that is not empty, as a text for users; `nil` if it is valid.
        static func fault(in text: String) -> String? {
            if text.count > maximumCharacters { return Sentence.messageLong.text(maximumCharacters) }
            if text.utf8.count > maximumBytes { return Sentence.messageTooLong.text() }
            return isClean(text, lines: true) ? nil : Sentence.messageCharacters.text()
        }

        /// Validates the duration of a mute: at most ``maximumMuting``. One that is not positive ends at once.
        ///
        /// - Throws: `validationFailed` with the field `muteFor`.
        public static func check(muting duration: Duration) throws(PresenceError) {
            guard duration <= maximumMuting else { throw invalid("muteFor", "must be at most 366 days") }
        }

        /// The largest integer in the server's JSON.
        private static let largestNumber: Int64 = 9_007_199_254_740_991

        private static func isClean(_ text: String, lines: Bool) -> Bool {
            text.unicodeScalars.allSatisfy { scalar in
                switch scalar.value {
                case 0x09, 0x0A, 0x0D: lines
                case 0x00...0x1F, 0x7F...0x9F: false
                default: true
                }
            }
        }

        private static func invalid(_ field: String, _ rule: String) -> PresenceError {
            PresenceError(.validationFailed, "\(field) \(rule)", field: field)
        }
    }
}

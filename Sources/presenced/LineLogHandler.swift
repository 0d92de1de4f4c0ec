import Foundation
import Logging

/// Writes one line an event to standard error:
///
///     2025-11-21T10:20:11.123Z info listening address=127.0.0.1 port=4040
///
/// Time (UTC), level, the event, then its fields by name. A value with anything but plain characters is quoted, so a
/// line is always one line, whatever a client put into it. Fields that are named as secrets are, are not shown; nobody
/// should log them, and this is where it would be caught.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    private static let secretFields: Set<String> = ["token", "secret", "authorization", "password"]

    init(level: Logger.Level) { logLevel = level }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        fields.merge(metadataProvider?.get() ?? [:]) { $1 }
        fields.merge(event.metadata ?? [:]) { $1 }
        let line = Self.line(time: Date(), level: event.level, message: "\(event.message)", fields: fields) + "\n"
        // One write, so that lines of several threads do not mix. What cannot be written is lost: there is no other
        // place to say so.
        let bytes = Array(line.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }

    static func line(time: Date, level: Logger.Level, message: String, fields: Logger.Metadata) -> String {
        var line = time.formatted(timestamp) + " \(level) " + escape(message)
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            let text = "\(value)"
            line += " \(key)=" + (secretFields.contains(key.lowercased()) ? "***" : isPlain(text) ? text : quote(text))
        }
        return line
    }

    private static let timestamp = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=")
            }
    }

    private static func quote(_ text: String) -> String {
        "\"" + escape(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")) + "\""
    }

    /// Leaves letters of all languages as they are; what could end or disguise a line becomes its number.
    private static func escape(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
                escaped += scalar == "\n" ? "\\n" : "\\u{\(String(scalar.value, radix: 16))}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

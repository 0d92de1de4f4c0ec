import Foundation
import Logging

/// Writes one line per event to standard error:
///
///     2025-11-21T10:20:11.123Z info listening address=127.0.0.1 port=4040
///
/// Time (UTC), level, the event, then its fields by name. Values with unusual characters are quoted and escaped, so each event
/// stays one line, whatever a client sends. Fields with names of secrets are masked; they should not be logged at all, so this
/// is a last safeguard.
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
        // One write, so that lines of several threads do not mix. A failed write is ignored, because there is no other place to
        // report it.
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

    /// Keeps letters of all languages, and replaces characters that could end or disguise a line by their number.
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

import Foundation

/// A fresh directory, removed with its content when the value is released.
public final class ScratchDirectory: Sendable {
    public let path: String

    public init(_ name: String = "presence-test") throws {
        var template = Array("/tmp/\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    public func write(_ text: String, to name: String) throws -> String {
        let file = path + "/" + name
        try Data(text.utf8).write(to: URL(filePath: file))
        return file
    }
}

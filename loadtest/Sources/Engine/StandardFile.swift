import Foundation

/// Standard output or standard error. Output without a reader is lost; `FileHandle.write(_:)` would trap.
struct StandardFile {
    private let handle: FileHandle

    static let output = StandardFile(handle: .standardOutput)
    static let errors = StandardFile(handle: .standardError)

    func write(_ data: Data) { try? handle.write(contentsOf: data) }
}

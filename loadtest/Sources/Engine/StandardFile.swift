import Foundation

/// Standard output or standard error. What nobody reads is lost: `FileHandle.write(_:)` traps then.
struct StandardFile {
    private let handle: FileHandle

    static let output = StandardFile(handle: .standardOutput)
    static let errors = StandardFile(handle: .standardError)

    func write(_ data: Data) { try? handle.write(contentsOf: data) }
}

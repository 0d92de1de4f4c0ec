import Foundation

/// An error of storing data on this device. Apps get it as a ``PresenceError``.
package enum StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another client has the directory locked.
    case inUse(String)
    /// The client that used the directory was closed.
    case closed(String)
    /// A later version of this library wrote the file in a format that this version does not know.
    case laterVersion(String, Int)
    /// The queue is full with this number of writes.
    case full(Int)
    /// A system call failed: the call, the file, `errno`.
    case failed(String, String, Int32)

    package var description: String {
        switch self {
        case .inUse(let path): "\(path) is in use by another client"
        case .closed(let path): "\(path) was closed"
        case .laterVersion(let path, let version): "\(path) was written by a later version (format \(version))"
        case .full(let count): "\(count) writes are pending already"
        case .failed(let call, let path, let code): "\(call) \(path): \(String(cString: strerror(code)))"
        }
    }
}

/// Texts for users, in plain language, without paths and system error numbers.
extension StorageError: LocalizedError {
    package var errorDescription: String? {
        switch self {
        case .inUse: Sentence.storageInUse.text()
        case .closed: Sentence.storageClosed.text()
        case .laterVersion: Sentence.laterVersion.text()
        case .full: Sentence.tooManyWaiting.text()
        case .failed: Sentence.notKept.text()
        }
    }

    package var recoverySuggestion: String? {
        switch self {
        case .closed: nil
        case .inUse: Sentence.closeOther.text()
        case .laterVersion: Sentence.installNewest.text()
        case .full: Sentence.checkConnection.text()
        case .failed(_, _, ENOSPC), .failed(_, _, EDQUOT): Sentence.freeSpace.text()
        case .failed: nil
        }
    }
}

extension PresenceError {
    init(_ error: StorageError) {
        let isInUse = if case .inUse = error { true } else { false }
        self.init(
            isInUse ? .storageInUse : .storageFailed, "\(error)", sentence: error.errorDescription,
            recovery: error.recoverySuggestion)
    }
}

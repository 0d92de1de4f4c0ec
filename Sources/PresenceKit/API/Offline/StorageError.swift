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
        case .inUse: "The app's data is in use by another copy of the app."
        case .closed: "The app's data is closed."
        case .laterVersion: "A newer version of the app has written its data on this device."
        case .full: "Too many changes are waiting for a connection."
        case .failed: "This could not be kept on this device."
        }
    }

    package var recoverySuggestion: String? {
        switch self {
        case .closed: nil
        case .inUse: "Please close the other one and try again."
        case .laterVersion: "Please install the newest version of the app."
        case .full: "Please check your internet connection and try again."
        case .failed(_, _, ENOSPC), .failed(_, _, EDQUOT): "Please free some space and try again."
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

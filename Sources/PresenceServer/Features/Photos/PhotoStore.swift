import Glibc
import PresenceCore

/// Where pictures are: two files each. What blocks is called on threads of its pool only.
protocol PhotoStore: Sendable {
    /// The threads that wait for it.
    var pool: WorkerPlan { get }

    /// Keeps a picture and its thumbnail. They are safe when it returns. Blocks.
    func keep(_ photo: [UInt8], _ thumbnail: [UInt8], as name: PhotoName) throws(PhotoStoreFailure)

    /// Removes both, and is content if they are not there. Blocks.
    func remove(_ name: PhotoName) throws(PhotoStoreFailure)

    /// The names in one of the parts that have been there for longer than `PhotoSweep.grace`. Blocks.
    ///
    /// - Parameter part: The first two digits of the names, as a number.
    func names(in part: Int) throws(PhotoStoreFailure) -> [PhotoName]

    /// What ``setMark(_:)`` has written; `nil` if nothing has, or not even a picture is there. Blocks.
    func mark() throws(PhotoStoreFailure) -> String?

    /// Says whose pictures these are. Blocks.
    func setMark(_ mark: String) throws(PhotoStoreFailure)

    /// Whether it can be used, as far as that is known without changing anything. Blocks.
    func check() throws(PhotoStoreFailure)

    /// Answers a call with a file. On the call's loop.
    ///
    /// - Parameter failed: Counts and logs that it could not be had; the call is answered already.
    func serve(
        _ file: PhotoFile, as content: HTTPContent, on call: HTTPCall, failed: @escaping (PhotoStoreFailure) -> Void)
}

extension PhotoStore {
    /// Whether these are the pictures of this installation; `false` if that has only now been said, by the first that asks.
    ///
    /// - Throws: also ``PhotoStoreFailure/foreign``.
    func isOurs(_ installation: String) throws(PhotoStoreFailure) -> Bool {
        guard let held = try mark() else {
            try setMark(installation)
            return false
        }
        guard held == installation else { throw .foreign }
        return true
    }
}

/// Why a picture could not be kept, read or removed, in words that may be logged.
struct PhotoStoreFailure: Error, Equatable, CustomStringConvertible {
    /// The sweep would take all of them for nobody's.
    static let foreign = PhotoStoreFailure(
        "these are the pictures of another installation, or this one's Redis has lost its data. If they are this one's, remove "
            + "the file \(PhotoSweep.markName) beside them")

    let description: String

    init(_ description: String) { self.description = description }

    /// With what the system says.
    init(_ what: String, code: Int32) { self.init("\(what): \(String(cString: strerror(code)))") }
}

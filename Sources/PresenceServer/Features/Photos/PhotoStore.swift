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

    /// Whether it can be used, as far as that is known without changing anything. Blocks.
    func check() throws(PhotoStoreFailure)

    /// Answers a call with a file. On the call's loop.
    ///
    /// - Parameter failed: Counts and logs that it could not be had; the call is answered already.
    func serve(
        _ file: PhotoFile, as content: HTTPContent, on call: HTTPCall, failed: @escaping (PhotoStoreFailure) -> Void)
}

/// Why a picture could not be kept, read or removed, in words that may be logged.
struct PhotoStoreFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// With what the system says.
    init(_ what: String, code: Int32) { self.init("\(what): \(String(cString: strerror(code)))") }
}

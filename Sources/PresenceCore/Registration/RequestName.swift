/// The type of a request as a key that can be looked up without a `String`: up to 24 bytes.
struct RequestName: Hashable {
    static let longest = 24
    private var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
    private let count: Int

    init(_ name: String) {
        self = Array(name.utf8).withUnsafeBytes { RequestName($0) }
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        count = bytes.count
        withUnsafeMutableBytes(of: &words) { words in
            words.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(words.count)))
        }
    }

    static func == (a: RequestName, b: RequestName) -> Bool { a.words == b.words && a.count == b.count }

    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}

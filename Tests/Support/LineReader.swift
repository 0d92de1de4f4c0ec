import Glibc

/// Reads lines from a descriptor as they arrive.
struct LineReader {
    private let descriptor: CInt
    private var buffer: [UInt8] = []

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// The next line; `nil` at the end.
    mutating func next() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            let more = [UInt8](unsafeUninitializedCapacity: 4_096) { space, count in
                count = max(0, read(descriptor, space.baseAddress!, space.count))
            }
            if more.isEmpty { return nil }
            buffer += more
        }
    }
}

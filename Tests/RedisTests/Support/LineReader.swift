import Glibc

/// Lines from a descriptor, as they come.
struct LineReader {
    private let descriptor: CInt
    private var buffer: [UInt8] = []

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    mutating func next() -> String? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            guard let more = Self.read(descriptor) else { return nil }
            buffer += more
        }
    }

    /// Reads until the other end is closed.
    func discardAllAndClose() {
        while Self.read(descriptor) != nil {}
        close(descriptor)
    }

    private static func read(_ descriptor: CInt) -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: 4_096) { space, count in
            count = max(0, Glibc.read(descriptor, space.baseAddress!, space.count))
        }
        return bytes.isEmpty ? nil : bytes
    }
}

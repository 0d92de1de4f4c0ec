/// Bytes that a program serves as they are, with the same as gzip beside them: compressed once, not for each client.
package struct PackedBytes: Sendable {
    package let plain: [UInt8]
    /// `nil` if it would not be smaller.
    package let gzip: [UInt8]?

    package init(_ plain: [UInt8]) {
        self.plain = plain
        gzip = plain.count > Compression.least ? Compression.gzip(plain, level: 9) : nil
    }
}

/// Embedded bytes to serve, with their gzip form: compressed once, not for each client.
package struct PackedBytes: Sendable {
    package let plain: [UInt8]
    /// `nil` if it would not be smaller.
    package let gzip: [UInt8]?

    package init(_ plain: [UInt8]) {
        self.plain = plain
        gzip = plain.count > Compression.least ? Compression.gzip(plain, level: 9) : nil
    }
}

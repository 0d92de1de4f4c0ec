extension [UInt8] {
    /// Lends the bytes for one call, as `withUnsafeBytes` does, which does not keep the type of what is thrown.
    package func lend<Result>(
        _ body: (UnsafeRawBufferPointer) throws(DecodingFailure) -> Result
    ) throws(DecodingFailure) -> Result {
        try withUnsafeBufferPointer { (bytes) throws(DecodingFailure) in try body(UnsafeRawBufferPointer(bytes)) }
    }
}

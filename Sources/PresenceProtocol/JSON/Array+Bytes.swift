extension [UInt8] {
    /// Calls a function with the bytes, like `withUnsafeBytes`, which does not keep the type of a thrown error.
    package func lend<Result>(
        _ body: (UnsafeRawBufferPointer) throws(DecodingFailure) -> Result
    ) throws(DecodingFailure) -> Result {
        try withUnsafeBufferPointer { (bytes) throws(DecodingFailure) in try body(UnsafeRawBufferPointer(bytes)) }
    }
}

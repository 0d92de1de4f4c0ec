import CHiredis

extension String {
    /// The text in a fixed array of C, up to its first NUL.
    init(cText bytes: UnsafeRawBufferPointer) {
        self.init(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}

extension UnsafeMutablePointer<redisContext> {
    /// hiredis' description of the context's error.
    var errorText: String { withUnsafeBytes(of: pointee.errstr, String.init(cText:)) }
}

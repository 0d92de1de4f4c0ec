/// The content of a peer's close frame (RFC 6455, 5.5.1).
struct CloseFrame {
    /// `nil` if the frame has none.
    let code: UInt16?
    /// `nil` if it is not UTF-8.
    let reason: String?

    /// `nil` if the code is incomplete.
    init?(_ payload: UnsafeRawBufferPointer) {
        guard payload.count != 1 else { return nil }
        guard payload.count >= 2 else {
            code = nil
            reason = ""
            return
        }
        code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        let text = UnsafeRawBufferPointer(rebasing: payload[2...])
        reason = text.isValidUTF8 ? String(decoding: text, as: UTF8.self) : nil
    }

    /// Whether an endpoint may send this code (RFC 6455, 7.4): a registered code, or one for libraries and
    /// applications.
    static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

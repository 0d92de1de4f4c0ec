/// The reason of a close with 1012 or 1013: `{"reconnectAfter":1500}`.
public struct ReconnectAdvice: Hashable, Sendable {
    /// The time that the client should wait before it reconnects.
    public var reconnectAfter: Milliseconds

    public init(reconnectAfter: Milliseconds) {
        self.reconnectAfter = reconnectAfter
    }

    /// The reason's bytes: at most 40, so well below the 123 that WebSocket has room for.
    public func encoded() -> [UInt8] {
        var output: [UInt8] = []
        JSONWriter.raw("{\"reconnectAfter\":", to: &output)
        JSONWriter.integer(reconnectAfter, to: &output)
        JSONWriter.raw("}", to: &output)
        return output
    }

    /// Reads a close reason; `nil` for any other text, such as reasons that proxies invent.
    public static func decode(_ reason: UnsafeRawBufferPointer) -> ReconnectAdvice? {
        guard var members = try? RequestBody.object(reason) else { return nil }
        var advice: ReconnectAdvice?
        try? members.forEachMember { (key, value) throws(DecodingFailure) in
            guard key.equals("reconnectAfter"), case .integer(let duration) = value.number, duration >= 0 else {
                return
            }
            advice = ReconnectAdvice(reconnectAfter: duration)
        }
        return advice
    }

    public static func decode(_ reason: [UInt8]) -> ReconnectAdvice? {
        reason.withUnsafeBytes { decode($0) }
    }
}

import PresenceProtocol

/// Messages of clients and of servers: an accepted message can be encoded again and means the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // Unsafe: libFuzzer's memory, valid for the call.
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    if let message = try? ClientMessage.decode(bytes, limits: ConnectionLimits()) {
        guard let again = try? ClientMessage.decode(message.encoded()), again == message else {
            fatalError("a client's message does not survive being encoded: \(message)")
        }
    }
    if let message = try? ServerMessage.decode(bytes) {
        guard let again = try? ServerMessage.decode(message.encoded()), again == message else {
            fatalError("a server's message does not survive being encoded: \(message)")
        }
    }
    return 0
}

import PresenceProtocol

/// Decodes a client's message, and throws its failure as a value.
func client(_ json: String, limits: ConnectionLimits = ConnectionLimits()) throws -> ClientMessage {
    try ClientMessage.decode(Array(json.utf8), limits: limits)
}

/// The failure of a client's message, or `nil` if it is taken.
func refusal(of json: String, limits: ConnectionLimits = ConnectionLimits()) -> DecodingFailure? {
    refusal(of: Array(json.utf8), limits: limits)
}

func refusal(of bytes: [UInt8], limits: ConnectionLimits = ConnectionLimits()) -> DecodingFailure? {
    do throws(DecodingFailure) {
        _ = try ClientMessage.decode(bytes, limits: limits)
        return nil
    } catch {
        return error
    }
}

func server(_ json: String) throws -> ServerMessage {
    try ServerMessage.decode(Array(json.utf8))
}

extension String {
    init(json bytes: [UInt8]) { self.init(decoding: bytes, as: UTF8.self) }
}

/// An id that the test knows to be one.
func id(_ text: String) -> Identifier {
    Identifier(text)!
}

func ids(_ texts: String...) -> [Identifier] {
    texts.map(id)
}

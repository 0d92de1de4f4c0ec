/// A client's opening handshake, and the answer to it.
enum UpgradeRequest {
    enum Parsed {
        case incomplete
        case refused
        /// The head was `length` bytes long.
        case request(length: Int, answer: [UInt8])
    }

    private static let keyName = Array("\r\nsec-websocket-key:".utf8)

    /// Reads only the key: every client gets a WebSocket, whatever else it requests.
    static func parse(_ bytes: UnsafeRawBufferPointer) -> Parsed {
        guard let length = Upgrade.endOfHead(bytes) else {
            return bytes.count > Upgrade.longestHead ? .refused : .incomplete
        }
        guard let key = key(UnsafeRawBufferPointer(rebasing: bytes[..<length])) else { return .refused }
        let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        return .request(
            length: length, answer: Array("\(head)Sec-WebSocket-Accept: \(Upgrade.accept(key))\r\n\r\n".utf8))
    }

    private static func key(_ head: UnsafeRawBufferPointer) -> String? {
        guard head.count > keyName.count else { return nil }
        for start in 0..<head.count - keyName.count where head[start] == 0x0D {
            let isKey = keyName.indices.allSatisfy { index in
                let byte = head[start + index]
                return byte == keyName[index] || byte | 0x20 == keyName[index]
            }
            guard isKey else { continue }
            let value = head[(start + keyName.count)...].drop { $0 == 0x20 }.prefix { $0 != 0x0D && $0 != 0x20 }
            return String(decoding: value, as: UTF8.self)
        }
        return nil
    }
}

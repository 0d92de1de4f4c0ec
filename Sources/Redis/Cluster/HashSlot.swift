/// Computes which of a cluster's 16,384 slots a key belongs to: CRC16 of its hash tag, or of the whole key without one.
public enum HashSlot {
    public static let count = 16_384

    public static func of(_ key: String) -> Int {
        let bytes = Array(key.utf8)
        return Int(crc16(tag(in: bytes)) % UInt16(count))
    }

    /// The text between the first `{` and the next `}`, unless that is empty.
    private static func tag(in key: [UInt8]) -> ArraySlice<UInt8> {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")),
            let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        else { return key[...] }
        return key[(open + 1)..<close]
    }

    /// CRC-16/XMODEM, polynomial 0x1021. It hashes a few bytes a command, so it needs no table.
    private static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        var crc: UInt16 = 0
        for byte in bytes {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        }
        return crc
    }
}

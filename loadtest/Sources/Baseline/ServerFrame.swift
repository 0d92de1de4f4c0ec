/// Writes frames as a server sends them: final, and not masked.
enum ServerFrame {
    static func append(
        _ opcode: FrameHeader.Opcode, _ payload: some Collection<UInt8>, to output: inout [UInt8]
    ) {
        let count = payload.count
        output.append(0x80 | opcode.rawValue)
        switch count {
        case ..<126:
            output.append(UInt8(count))
        case ..<65_536:
            output.append(126)
            output.append(UInt8(count >> 8))
            output.append(UInt8(count & 0xFF))
        default:
            output.append(127)
            for shift in stride(from: 56, through: 0, by: -8) { output.append(UInt8(count >> shift & 0xFF)) }
        }
        output.append(contentsOf: payload)
    }
}

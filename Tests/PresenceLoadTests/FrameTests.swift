import Expectations
import Testing

@testable import presence_load

@Suite struct FrameTests {
    /// A server's reading: the opcode and the unmasked payload of one client's frame.
    private func read(_ frame: [UInt8]) throws -> (opcode: UInt8, payload: [UInt8]) {
        try #require(frame.count >= 6 && frame[1] & 0x80 != 0, "a client's frame is masked")
        var start = 2
        var length = Int(frame[1] & 0x7F)
        if length >= 126 {
            let extra = length == 126 ? 2 : 8
            length = frame[2..<2 + extra].reduce(0) { $0 << 8 | Int($1) }
            start += extra
        }
        let mask = frame[start..<start + 4]
        let payload = frame[(start + 4)...].enumerated().map { $1 ^ mask[mask.startIndex + $0 % 4] }
        expect(payload.count, equals: length)
        return (frame[0], payload)
    }

    private func parse(_ bytes: [UInt8]) -> FrameHeader.Parsed { bytes.withUnsafeBytes { FrameHeader.parse($0) } }

    @Test(arguments: [0, 1, 125, 126, 127, 65_535, 65_536, 70_001])
    func `a written frame is final, masked and whole at every length of its head`(length: Int) throws {
        var writer = FrameWriter(seed: 7)
        var frame: [UInt8] = []
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        writer.append(.text, payload, to: &frame)
        let (opcode, read) = try read(frame)
        expect(opcode, equals: 0x81)
        expect(read, equals: payload)
    }

    @Test func `two frames have different masks`() {
        var writer = FrameWriter(seed: 7)
        var frames: [[UInt8]] = [[], []]
        for index in frames.indices { writer.append(.text, Array("hello".utf8), to: &frames[index]) }
        expect(frames[0][2..<6] != frames[1][2..<6])
    }

    @Test func `a server's heads of all three lengths are read`() {
        func header(_ length: Int, _ payload: Int) -> FrameHeader.Parsed {
            .header(FrameHeader(isFinal: true, opcode: .text, length: length, payloadLength: payload))
        }
        expect(parse([0x81, 125]), equals: header(2, 125))
        expect(parse([0x81, 126, 0x01, 0x00]), equals: header(4, 256))
        expect(parse([0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]), equals: header(10, 65_536))
        expect(
            parse([0x01, 5]), equals: .header(FrameHeader(isFinal: false, opcode: .text, length: 2, payloadLength: 5)))
    }

    @Test(arguments: [[], [0x81], [0x81, 126], [0x81, 126, 1], [0x81, 127, 0, 0, 0, 0, 0, 1, 0]] as [[UInt8]])
    func `half a head is incomplete`(bytes: [UInt8]) {
        expect(parse(bytes), equals: .incomplete)
    }

    @Test(
        arguments: [
            [0xC1, 0], [0x81, 0x80], [0x83, 0], [0x09, 0], [0x89, 126], [0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
            [0x81, 127, 0, 0, 0, 0, 0x7F, 0, 0, 0],
        ] as [[UInt8]])
    func `a frame that no server may send is a violation`(bytes: [UInt8]) {
        guard case .violation = parse(bytes) else {
            Issue.record("taken for fine: \(bytes)")
            return
        }
    }
}

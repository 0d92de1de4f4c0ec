import Expectations
import Testing

@testable import TestSupport
@testable import WebSockets

struct FrameReaderTests {
    /// The result of reading, with the pieces joined.
    private enum Read: Equatable {
        case text(String)
        case control(FrameReader.Control, [UInt8])
        case refused(FrameReader.Refusal)
        case fault(FrameReader.Fault)
    }

    /// Reads `bytes`, `size` at a time.
    private func read(_ bytes: [UInt8], size: Int? = nil, limit: Int = 1 << 20) -> [Read] {
        var reader = FrameReader()
        var read: [Read] = []
        var message: [UInt8] = []
        var control: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: size ?? max(1, bytes.count)) {
            var piece = Array(bytes[start..<min(bytes.count, start + (size ?? bytes.count))])
            var place = 0
            loop: while true {
                let event = piece.withUnsafeMutableBytes { reader.next(in: $0, at: &place, limit: limit) }
                switch event {
                case .needsMore: break loop
                case .text(let range, let isLast):
                    message += piece[range]
                    guard isLast else { continue }
                    read.append(.text(String(decoding: message, as: UTF8.self)))
                    message = []
                case .control(let kind, let range, let isLast):
                    control += piece[range]
                    guard isLast else { continue }
                    read.append(.control(kind, control))
                    control = []
                case .refused(let refusal): read.append(.refused(refusal))
                case .fault(let fault): read.append(.fault(fault))
                }
            }
            expect(place, equals: piece.count)
        }
        return read
    }

    private func text(_ text: String, final: Bool = true) -> [UInt8] {
        RawClient.frame(1, Array(text.utf8), final: final)
    }

    @Test(arguments: [1, 2, 3, 5, 7, 8, 13, 64, nil])
    func `frames are read the same in pieces of any size`(size: Int?) {
        let bytes =
            text("one") + text("") + text("a", final: false) + RawClient.frame(9, [1, 2, 3])
            + RawClient.frame(0, [], final: false) + RawClient.frame(10, [])
            + RawClient.frame(0, Array("bc".utf8)) + text(String(repeating: "x", count: 70_000))
            + RawClient.frame(9, Array(repeating: 7, count: 125)) + RawClient.frame(8, [3, 0xE8, 98, 121, 101])
        expect(
            read(bytes, size: size),
            equals: [
                .text("one"), .text(""), .control(.ping, [1, 2, 3]), .control(.pong, []), .text("abc"),
                .text(String(repeating: "x", count: 70_000)), .control(.ping, Array(repeating: 7, count: 125)),
                .control(.close, [3, 0xE8, 98, 121, 101]),
            ])
    }

    @Test(arguments: [0, 1, 125, 126, 127, 65_535, 65_536, 100_000])
    func `a length is read in each of its three forms`(length: Int) {
        let whole = String(repeating: "y", count: length)
        expect(read(text(whole)), equals: [.text(whole)])
    }

    @Test func `a whole payload is one piece, in place`() {
        var bytes = text("hello") + text("you")
        var reader = FrameReader()
        var place = 0
        bytes.withUnsafeMutableBytes { bytes in
            expect(reader.next(in: bytes, at: &place, limit: 100), equals: .text(6..<11, isLast: true))
            expect(reader.next(in: bytes, at: &place, limit: 100), equals: .text(17..<20, isLast: true))
            expect(reader.next(in: bytes, at: &place, limit: 100), equals: .needsMore)
            expect(String(decoding: bytes[6..<11], as: UTF8.self), equals: "hello")
        }
    }

    @Test(arguments: 0..<40)
    func `a mask is undone at every place and length`(length: Int) {
        let plain = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        for start in 0..<8 {
            var bytes =
                Array(repeating: 0xAA, count: start) + plain.enumerated().map { $1 ^ [1, 2, 3, 4][$0 & 3] } + [0xBB]
            bytes.withUnsafeMutableBytes { bytes in
                FrameReader.unmask(.init(rebasing: bytes[start..<start + length]), 0x0403_0201)
            }
            expect(bytes, equals: Array(repeating: 0xAA, count: start) + plain + [0xBB])
        }
    }

    @Test(
        arguments: [
            ([0xC1], .reservedBits), ([0xA1], .reservedBits), ([0x91], .reservedBits), ([0x83], .opcode),
            ([0x87], .opcode), ([0x8B], .opcode), ([0x8F], .opcode), ([0x09], .fragmentedControl),
            ([0x08], .fragmentedControl), ([0x80], .nothingToContinue), ([0x00], .nothingToContinue),
            ([0x89, 0xFE], .longControl), ([0x88, 0xFF], .longControl), ([0x81, 0x05], .notMasked),
            ([0x8A, 0x00], .notMasked), ([0x81, 0xFE, 0, 125], .length),
            ([0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .length),
            ([0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0], .length),
        ] as [([UInt8], FrameReader.Fault)])
    func `a fault is found with the byte that makes it one, and ends all reading`(
        bytes: [UInt8], fault: FrameReader.Fault
    ) {
        expect(read(Array(bytes.dropLast())), equals: [])
        for size in [1, nil] {
            expect(read(text("fine") + bytes + text("never"), size: size), equals: [.text("fine"), .fault(fault)])
        }
    }

    @Test func `a message within another is a fault, and after the end of one it is not`() {
        expect(read(text("a", final: false) + text("b")), equals: [.fault(.unfinished)])
        expect(
            read(text("a", final: false) + RawClient.frame(2, [1], final: false)), equals: [.fault(.unfinished)])
        expect(
            read(text("a", final: false) + RawClient.frame(0, [98]) + RawClient.frame(0, [99])),
            equals: [.text("ab"), .fault(.nothingToContinue)])
    }

    @Test func `a message that is too long is rejected with its header, and later frames are read`() {
        let header: [UInt8] = [0x81, 0xFE, 0x03, 0xE9]
        expect(read(header, limit: 1_000), equals: [.refused(.tooLong)])
        expect(read(Array(header.dropLast()), limit: 1_000), equals: [])
        let close = RawClient.frame(8, [3, 0xF1])
        let long = read(text(String(repeating: "x", count: 1_001)) + close, size: 10, limit: 1_000)
        expect(long.first == .refused(.tooLong) && long.last == .control(.close, [3, 0xF1]))
        let fragments =
            text(String(repeating: "x", count: 600), final: false)
            + RawClient.frame(0, Array(repeating: 120, count: 401))
        expect(read(fragments, limit: 1_000).contains(.refused(.tooLong)))
        expect(read(fragments, limit: 1_001), equals: [.text(String(repeating: "x", count: 1_001))])
        // Each message counts for itself.
        let two = text(String(repeating: "x", count: 600)) + text(String(repeating: "x", count: 600))
        expect(read(two, limit: 1_000).count, equals: 2)
    }

    @Test func `a binary message is rejected with its header, and later frames are read`() {
        expect(read([0x82, 0x85], limit: 1_000), equals: [.refused(.binary)])
        let all = read(RawClient.frame(2, [1, 2, 3]) + RawClient.frame(8, []))
        expect(all.first == .refused(.binary) && all.last == .control(.close, []))
    }

    @Test func `how much of a frame is missing is known within its payload`() {
        var reader = FrameReader()
        var bytes = Array(text(String(repeating: "x", count: 1_000)).prefix(108))
        var place = 0
        expect(reader.payloadLeft, equals: 0)
        bytes.withUnsafeMutableBytes { bytes in
            expect(reader.next(in: bytes, at: &place, limit: 1_000), equals: .text(8..<108, isLast: false))
        }
        expect(reader.payloadLeft, equals: 900)
    }
}

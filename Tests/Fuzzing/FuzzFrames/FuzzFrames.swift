@testable import WebSockets

/// A client's bytes on an open connection: `FrameReader` gives the same result however the bytes are cut into pieces,
/// and the same as a second reader, which is written by RFC 6455 alone and gets all bytes at once.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // Unsafe: libFuzzer's memory, valid for the call.
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: count))
    let expected = readWhole(bytes)
    let size = 1 + Int(bytes.last ?? 0) % 17
    for size in [max(1, bytes.count), 1, size] {
        let read = readInPieces(bytes, size: size)
        guard read == expected else { fatalError("in pieces of \(size): \(read)\ninstead of \(expected)") }
    }
    return 0
}

private let limit = 1_000

private enum Said: Equatable {
    case text([UInt8])
    case control(UInt8, [UInt8])
    /// The content of a rejected message is not compared.
    case refused
    case fault
}

private func readInPieces(_ bytes: [UInt8], size: Int) -> [Said] {
    var reader = FrameReader()
    var said: [Said] = []
    var message: [UInt8] = []
    var control: [UInt8] = []
    var isRefused = false
    for start in stride(from: 0, to: bytes.count, by: size) {
        var piece = Array(bytes[start..<min(bytes.count, start + size)])
        var place = 0
        loop: while true {
            let before = place
            let event = piece.withUnsafeMutableBytes { reader.next(in: $0, at: &place, limit: limit) }
            guard place >= before, place <= piece.count else { fatalError("it went from \(before) to \(place)") }
            switch event {
            case .needsMore:
                guard place == piece.count else { fatalError("bytes are left") }
                break loop
            case .text(let range, let isLast):
                message += piece[range]
                guard isLast else { continue }
                if !isRefused {
                    guard message.count <= limit else { fatalError("a message of \(message.count) bytes") }
                    said.append(.text(message))
                }
                isRefused = false
                message = []
            case .control(let kind, let range, let isLast):
                control += piece[range]
                guard control.count <= 125 else { fatalError("a control frame of \(control.count) bytes") }
                guard isLast else { continue }
                said.append(.control(kind.rawValue, control))
                control = []
            case .refused:
                if !isRefused { said.append(.refused) }
                isRefused = true
            case .fault: said.append(.fault)
            }
        }
    }
    return said
}

/// RFC 6455, 5.2 to 5.5, word by word.
private func readWhole(_ bytes: [UInt8]) -> [Said] {
    var said: [Said] = []
    var rest = bytes[...]
    var message: [UInt8]?
    var length = 0
    var isRefused = false
    while let first = rest.popFirst() {
        let opcode = first & 15
        let isFinal = first >= 128
        let isControl = opcode >= 8
        if first & 0b0111_0000 != 0 || ![0, 1, 2, 8, 9, 10].contains(opcode) || isControl && !isFinal
            || opcode == 0 && message == nil || (opcode == 1 || opcode == 2) && message != nil
        {
            return said + [.fault]
        }
        guard let second = rest.popFirst() else { break }
        if second < 128 || isControl && second & 127 > 125 { return said + [.fault] }
        var payloadLength = UInt64(second & 127)
        if payloadLength > 125 {
            let size = payloadLength == 126 ? 2 : 8
            guard rest.count >= size else { break }
            payloadLength = rest.prefix(size).reduce(0) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(size)
            if payloadLength < (size == 2 ? 126 : 65_536) || payloadLength >= 1 << 63 { return said + [.fault] }
        }
        if !isControl {
            if opcode != 0 {
                message = []
                length = 0
                isRefused = false
            }
            if opcode == 2 || payloadLength > UInt64(limit - length) {
                if !isRefused { said.append(.refused) }
                isRefused = true
            } else {
                length += Int(payloadLength)
            }
        }
        guard rest.count >= 4 else { break }
        let mask = Array(rest.prefix(4))
        rest = rest.dropFirst(4)
        guard UInt64(rest.count) >= payloadLength else { break }
        let payload = rest.prefix(Int(payloadLength)).enumerated().map { $1 ^ mask[$0 % 4] }
        rest = rest.dropFirst(Int(payloadLength))
        if isControl {
            said.append(.control(opcode, payload))
            continue
        }
        message! += payload
        guard isFinal else { continue }
        if !isRefused { said.append(.text(message!)) }
        message = nil
    }
    return said
}

import Expectations
import PresenceProtocol
import Testing

/// Random input, the same at every run. A failure's seed is in its text.
struct RobustnessTests {
    @Test func `every message that a client can make survives being encoded and decoded`() throws {
        var random = SplitMix(seed: 1)
        for round in 0..<10_000 {
            let message = Invention.message(using: &random)
            let bytes = message.encoded()
            try expect(ClientMessage.decode(bytes), equals: message, "round \(round): \(String(json: bytes))")
        }
    }

    /// Neither side may crash on any input. An accepted message can be sent again.
    @Test func `a hundred thousand damaged messages crash neither side`() throws {
        let originals = Example.all.map(\.bytes)
        var random = SplitMix(seed: 2)
        var taken = 0
        for round in 0..<100_000 {
            let bytes = damaged(originals.randomElement(using: &random)!, using: &random)
            if let message = try? ClientMessage.decode(bytes) {
                taken += 1
                try expect(ClientMessage.decode(message.encoded()), equals: message, "round \(round)")
            }
            if let message = try? ServerMessage.decode(bytes) {
                try expect(
                    ServerMessage.decode(message.encoded()), equals: message, "round \(round): \(String(json: bytes))")
            }
        }
        expect(taken > 0)
    }

    @Test func `a damaged body of HTTP causes no crash`() {
        let originals = [
            #"{"displayName":"Bob","photoURL":"https://e.org/b","timezone":"UTC","locale":"en"}"#,
            #"{"users":["bob","cy"]}"#, #"{"participants":["ana","bob"]}"#, #"{"reconnectAfter":1500}"#,
        ].map { Array($0.utf8) }
        var random = SplitMix(seed: 3)
        for _ in 0..<20_000 {
            let bytes = damaged(originals.randomElement(using: &random)!, using: &random)
            _ = try? ProfileChanges.decode(json: bytes)
            _ = try? RequestBody.users(bytes, limit: 10)
            _ = try? RequestBody.participants(bytes)
            _ = ReconnectAdvice.decode(bytes)
        }
    }

    /// Changes, removes, repeats or inserts a few bytes.
    private func damaged(_ original: [UInt8], using random: inout SplitMix) -> [UInt8] {
        let telling = Array("{}[]\",:\\u0dD8e-.1 \n\0".utf8) + [0x80, 0xC3, 0xE2, 0xF0, 0xFF]
        var bytes = original
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            guard let index = bytes.indices.randomElement(using: &random) else { break }
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[index] = telling.randomElement(using: &random)!
            case 2: bytes.insert(telling.randomElement(using: &random)!, at: index)
            case 3: bytes.remove(at: index)
            default:
                let end = Int.random(in: index...bytes.count, using: &random)
                bytes.insert(contentsOf: bytes[index..<end], at: index)
            }
        }
        return bytes
    }
}

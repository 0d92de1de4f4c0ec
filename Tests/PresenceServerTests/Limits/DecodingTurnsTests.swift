import Expectations
import PresenceProtocol
import Testing

@testable import PresenceServer
@testable import WebSockets

@Suite struct DecodingTurnsTests {
    private let turns = DecodingTurns(ofUser: 1_000, ofAddress: 3_000)
    private let one = PeerAddress(host: "192.0.2.1")!.block
    private let two = PeerAddress(host: "192.0.2.2")!.block

    private func user(_ number: Int) -> UserID { UserID("user\(number)")! }

    /// Tries a decoding that takes `used` ms. Returns the wait, or `nil` if it was the user's turn.
    private func decode(_ number: Int, from address: AddressBlock, used: Int, at now: Milliseconds) -> Milliseconds? {
        switch turns.begin(user(number), from: address, at: now) {
        case .success(let turn):
            turns.end(turn, used: used, at: now)
            return nil
        case .failure(let wait): return wait.milliseconds
        }
    }

    @Test func `a user has one picture decoded at a time, and an address four`() throws {
        let begun = try (0..<4).map { try turns.begin(user($0), from: one, at: 0).get() }
        expect(decode(0, from: two, used: 1, at: 0), equals: 1_000)
        expect(decode(4, from: one, used: 1, at: 0), equals: 1_000)
        expect(decode(4, from: two, used: 1, at: 0), equals: nil)
        // Uncounted addresses are not limited.
        expect(decode(5, from: .none, used: 1, at: 0), equals: nil)
        turns.end(begun[0], used: 0, at: 0)
        expect(decode(4, from: one, used: 1, at: 0), equals: nil)
        expect(decode(0, from: two, used: 1, at: 0), equals: nil)
    }

    @Test func `a user's decoding time is limited to the ms, and an excess is repaid first`() {
        expect(decode(0, from: .none, used: 999, at: 0), equals: nil)
        expect(decode(0, from: .none, used: 501, at: 0), equals: nil)
        // A user regains 1 ms in 3.6 s: the one requested, and the 500 in excess.
        let whole: Milliseconds = 501 * 3_600
        expect(decode(0, from: .none, used: 1, at: 0), equals: whole)
        expect(decode(0, from: .none, used: 1, at: whole - 1), equals: 1)
        expect(decode(0, from: .none, used: 1, at: whole), equals: nil)
        expect(decode(1, from: .none, used: 1, at: 0), equals: nil)
    }

    @Test func `an address's decoding time is limited, however many users it has`() {
        for number in 0..<6 { expect(decode(number, from: one, used: 500, at: 0), equals: nil) }
        expect(decode(6, from: one, used: 1, at: 0), equals: 1_200)
        expect(decode(6, from: two, used: 1, at: 0), equals: nil)
        expect(decode(7, from: one, used: 1, at: 1_200), equals: nil)
    }
}

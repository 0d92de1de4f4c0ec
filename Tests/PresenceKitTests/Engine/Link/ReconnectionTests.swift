import Expectations
import Foundation
import PresenceProtocol
import Testing

@testable import PresenceKit

@Suite struct ReconnectionTests {
    private var reconnection = Reconnection(base: .milliseconds(500), cap: .seconds(30))

    private mutating func wait(
        after ending: Ending = .lost(""), at uptime: Duration = .zero, fresh: Bool = true, random: Double = 0.999_999
    ) -> Duration? {
        switch reconnection.verdict(on: ending, at: uptime, freshToken: fresh, random: random) {
        case .again(let wait): wait
        case .never: nil
        }
    }

    private static func closed(_ code: UInt16, _ reason: String = "") -> Ending {
        .closed(code: CloseCode(rawValue: code), reason: Array(reason.utf8))
    }

    @Test mutating func `within linger the bound doubles up to a quarter of it, then up to thirty seconds`() throws {
        var uptime = Duration.seconds(100)
        let bounds = [(0.5, 0), (1, 1), (2, 2), (2.5, 4), (2.5, 6.5), (1.5, 8), (2.5, 9), (5, 10), (10, 15), (20, 30)]
        for (bound, elapsed) in bounds + [(30, 60), (30, 100), (30, 1_000)] {
            uptime = .seconds(100) + .seconds(elapsed)
            let wait = wait(at: uptime) ?? .zero
            expect(abs(wait.timeInterval - bound) < 0.001, "\(elapsed) s after the loss")
        }
    }

    @Test mutating func `a longer linger leads to longer delays, a shorter one to shorter`() {
        for (linger, bounds) in [
            (60.0, [0.5, 1, 2, 4, 8, 15]), (1, [0.25, 0.25]), (0.1, [0.1, 0.1]), (0, [0.5, 1, 2]),
        ] {
            var fresh = Self().reconnection
            fresh.connected(at: .zero, linger: .seconds(linger))
            for bound in bounds {
                let verdict = fresh.verdict(on: .lost(""), at: .seconds(5), freshToken: false, random: 1)
                expect(verdict, equals: .again(after: .seconds(bound)))
            }
        }
    }

    @Test mutating func `the delay is anything between zero and the bound`() {
        for draw in [0, 0.25, 0.5, 0.75] {
            var fresh = Self().reconnection
            let verdict = fresh.verdict(on: .lost(""), at: .zero, freshToken: true, random: draw)
            expect(verdict, equals: .again(after: .milliseconds(500) * draw))
        }
    }

    @Test mutating func `a thousand failures cause no overflow`() {
        for attempt in 0..<1_000 { expect(wait(at: .seconds(attempt))! <= .seconds(30)) }
    }

    @Test(arguments: [1012, 1013, 1002] as [UInt16])
    mutating func `a delay named by the server is used exactly`(code: UInt16) {
        expect(wait(after: Self.closed(code, #"{"reconnectAfter":1234}"#)), equals: .milliseconds(1_234))
        expect(wait(after: Self.closed(code, #"{"reconnectAfter":0}"#)), equals: .zero)
    }

    @Test(arguments: ["", "going", "{}", #"{"reconnectAfter":-1}"#, #"{"reconnectAfter":"soon"}"#])
    mutating func `without a valid delay it waits as after a loss`(reason: String) throws {
        let wait = wait(after: Self.closed(1012, reason), random: 0.5)
        expect(wait, equals: .milliseconds(250))
    }

    @Test(
        arguments: [
            (1003, .protocolViolation), (1007, .protocolViolation), (1008, .protocolViolation),
            (1009, .protocolViolation), (4004, .replaced), (4006, .disconnectedByAdministrator),
        ] as [(UInt16, PresenceError.Code)])
    mutating func `some closes are final`(code: UInt16, reason: PresenceError.Code) {
        let verdict = reconnection.verdict(on: Self.closed(code), at: .zero, freshToken: true, random: 0)
        guard case .never(let error) = verdict else {
            Issue.record("\(code) would be reconnected")
            return
        }
        expect(error.code, equals: reason)
    }

    @Test(arguments: [1000, 1001, 1005, 1006, 1011, 1012, 1013, 4002, 4003, 4005, 4007, 4999] as [UInt16])
    mutating func `all other closes are not`(code: UInt16) {
        for _ in 0..<5 { expect(wait(after: Self.closed(code)) != nil) }
    }

    @Test mutating func `a ban is final, with its reason and end; any other 4003 is not`() {
        let until = Date(timeIntervalSince1970: 1_763_798_400)
        for (reason, expected) in [
            (#"{"code":"banned","until":1763798400000,"reason":"Spam"}"#, PresenceError.Reason(rawValue: "Spam")),
            (#"{"code":"banned","until":1763798400000}"#, nil),
        ] {
            let verdict = reconnection.verdict(on: Self.closed(4003, reason), at: .zero, freshToken: true, random: 0)
            guard case .never(let error) = verdict else {
                Issue.record("\(reason) would be reconnected")
                continue
            }
            expect(error.code == .banned && error.reason == expected && error.until == until)
        }
        for reason in ["connect timeout", "{}", #"{"code":"slow"}"#] {
            expect(wait(after: Self.closed(4003, reason)) != nil)
        }
    }

    @Test mutating func `a token provider that reports a ban is not called again`() {
        let verdict = reconnection.verdict(
            on: .noToken(PresenceError(.banned, "")), at: .zero, freshToken: true, random: 0)
        expect(verdict, equals: .never(PresenceError(.banned, "")))
    }

    @Test mutating func `two fresh tokens rejected in a row are enough`() {
        expect(wait(after: Self.closed(4001)) != nil)
        expect(wait(after: Self.closed(4001)), equals: nil)
    }

    @Test mutating func `a fixed token needs to be rejected only once`() {
        reconnection.tokenIsFixed = true
        expect(wait(after: .lost("")) != nil)
        expect(wait(after: Self.closed(4001)), equals: nil)
    }

    @Test mutating func `a token from an earlier attempt does not count`() {
        expect(wait(after: Self.closed(4001), fresh: false) != nil)
        expect(wait(after: Self.closed(4001)) != nil)
        expect(wait(after: Self.closed(4001)), equals: nil)
    }

    @Test mutating func `an accepted token in between restarts the count`() {
        expect(wait(after: Self.closed(4001)) != nil)
        reconnection.connected(at: .zero, linger: .seconds(10))
        expect(wait(after: Self.closed(4001)) != nil)
    }

    @Test mutating func `losses do not count as rejections`() {
        expect(wait(after: Self.closed(4001)) != nil)
        expect(wait(after: .lost("")) != nil)
        expect(wait(after: Self.closed(4001)), equals: nil)
    }

    @Test(arguments: [200, 302, 400, 401, 403, 404, 407, 426, 429, 500, 503, 511], [false, true])
    mutating func `a rejected upgrade is retried with the usual delays, whatever its status`(
        status: Int, tokenIsFixed: Bool
    ) throws {
        reconnection.tokenIsFixed = tokenIsFixed
        for bound in [0.5, 1, 2, 2.5] {
            let found = wait(after: .refused(status: status))
            let delay = try #require(found)
            expect(abs(delay.timeInterval - bound) < 0.001)
        }
        expect(Ending.refused(status: status).error.code, equals: .connectionLost)
    }

    @Test mutating func `a connection that lasted restarts the count, one that did not continues it`() {
        for _ in 0..<4 { _ = wait() }
        reconnection.connected(at: .seconds(100), linger: .seconds(10))
        expect(wait(at: .seconds(104), random: 0.5), equals: .seconds(2.5))
        reconnection.connected(at: .seconds(200), linger: .seconds(10))
        expect(wait(at: .seconds(205), random: 0.5), equals: .milliseconds(250))
    }

    @Test mutating func `a provider that throws unauthorized ends it, any other error does not`() {
        expect(wait(after: .noToken(PresenceError(.tokenUnavailable, ""))) != nil)
        expect(wait(after: .noToken(PresenceError(.unauthorized, ""))), equals: nil)
    }

    @Test mutating func `a connect that is rejected temporarily waits at least as long as the server named`() {
        let busy = PresenceError(.unavailable, "", retryAfter: .seconds(3))
        expect(wait(after: .rejected(busy), random: 0.5), equals: .seconds(3) + .milliseconds(250))
        // One connection too many of a user. For other limits the server does not expect a change.
        let crowd = PresenceError(.tooMany, "", retryAfter: .seconds(10))
        expect(wait(after: .rejected(crowd), random: 0), equals: .seconds(10))
        expect(wait(after: .rejected(PresenceError(.tooMany, ""))), equals: nil)
        expect(wait(after: .rejected(PresenceError(.validationFailed, "", field: "device.name"))), equals: nil)
    }
}

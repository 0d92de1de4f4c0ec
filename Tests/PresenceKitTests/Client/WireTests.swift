import Expectations
import Testing

@testable import PresenceKit

/// The library's own types beside those of the protocol.
struct WireTests {
    private func haveSameNames<Words: WireNamed>(_: Words.Type) -> Bool {
        Words.allCases.map(\.rawValue) == Words.WireType.allCases.map(\.rawValue)
    }

    @Test func `the app's words are those of the protocol`() {
        expect(haveSameNames(PresenceKit.PresenceStatus.self) && haveSameNames(Device.Kind.self))
        expect(haveSameNames(PresenceKit.ChosenStatus.self) && haveSameNames(PresenceKit.Activity.self))
        expect(haveSameNames(PresenceKit.Audience.self))
    }
}

import Expectations
import PresenceProtocol
import Testing

@testable import PresenceKit

/// Which observers are woken by a change.
@Suite struct ObserversTests {
    private var observers = Observers()
    private static let first = ObserverID(number: 1)
    private static let second = ObserverID(number: 2)

    private mutating func woken(by change: (inout Observers) -> Void) -> Set<ObserverID> {
        _ = observers.takeWoken()
        change(&observers)
        return Set(observers.takeWoken())
    }

    @Test mutating func `a change wakes the observers of that user`() {
        observers.add(Self.first, .presence("bob"))
        observers.add(Self.second, .roster(["bob", "cy"]))
        expect(woken { $0.peopleChanged(["bob"]) }, equals: [Self.first, Self.second])
        expect(woken { $0.peopleChanged(["cy"]) }, equals: [Self.second])
        expect(woken { $0.peopleChanged(["zed"]) }, equals: [])
        expect(woken { $0.conversationsChanged(["bob"]) }, equals: [])
    }

    @Test mutating func `when one of two observers ends, it is woken, and the other one continues`() {
        observers.add(Self.first, .user("bob"))
        observers.add(Self.second, .user("bob"))
        expect(woken { _ = $0.remove(Self.first) }, equals: [Self.first])
        expect(observers[Self.first] == nil)
        expect(woken { $0.peopleChanged(["bob"]) }, equals: [Self.second])
        observers.add(Self.first, .typing("c1"))
        expect(woken { $0.conversationsChanged(["c1"]) }, equals: [Self.first])
        expect(woken { _ = $0.remove(Self.first) }, equals: [Self.first])
        expect(woken { $0.conversationsChanged(["c1"]) }, equals: [])
    }

    @Test mutating func `each stamp wakes once`() {
        observers.add(Self.first, .connection)
        observers.add(Self.second, .ownStatus)
        expect(woken { $0.record(.connection, stamp: 2) }, equals: [Self.first])
        expect(woken { $0.record(.connection, stamp: 2) }, equals: [])
        expect(woken { $0.record(.ownStatus, stamp: 2) }, equals: [Self.second])
        expect(woken { $0.record(.connection, stamp: 3) }, equals: [Self.first])
    }
}

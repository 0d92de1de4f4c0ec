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
        holds(woken { $0.peopleChanged(["bob"]) } == [Self.first, Self.second])
        holds(woken { $0.peopleChanged(["cy"]) } == [Self.second])
        holds(woken { $0.peopleChanged(["zed"]) } == [])
        holds(woken { $0.conversationsChanged(["bob"]) } == [])
    }

    @Test mutating func `when one of two observers ends, it is woken, and the other one continues`() {
        observers.add(Self.first, .user("bob"))
        observers.add(Self.second, .user("bob"))
        holds(woken { _ = $0.remove(Self.first) } == [Self.first])
        #expect(observers[Self.first] == nil)
        holds(woken { $0.peopleChanged(["bob"]) } == [Self.second])
        observers.add(Self.first, .typing("c1"))
        holds(woken { $0.conversationsChanged(["c1"]) } == [Self.first])
        holds(woken { _ = $0.remove(Self.first) } == [Self.first])
        holds(woken { $0.conversationsChanged(["c1"]) } == [])
    }

    @Test mutating func `each stamp wakes once`() {
        observers.add(Self.first, .connection)
        observers.add(Self.second, .ownStatus)
        holds(woken { $0.record(.connection, stamp: 2) } == [Self.first])
        holds(woken { $0.record(.connection, stamp: 2) } == [])
        holds(woken { $0.record(.ownStatus, stamp: 2) } == [Self.second])
        holds(woken { $0.record(.connection, stamp: 3) } == [Self.first])
    }
}

import EventLoops

/// Objects that a feature shares among the shards of a server, one of each type. A server creates it, so two servers in one
/// process share nothing.
package final class SharedObjects: Sendable {
    private let objects = Locked<[ObjectIdentifier: any AnyObject & Sendable]>([:])

    package init() {}

    /// The object of this type, which the first caller makes.
    package func object<Object: AnyObject & Sendable>(_ make: () -> Object) -> Object {
        objects.withLock { objects in
            if let found = objects[ObjectIdentifier(Object.self)] as? Object { return found }
            let made = make()
            objects[ObjectIdentifier(Object.self)] = made
            return made
        }
    }
}

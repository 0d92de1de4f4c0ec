@testable import PresenceServer

extension Script {
    /// Those of a server with every feature of its own.
    static let allCases = Script.all(of: Features.all)
}

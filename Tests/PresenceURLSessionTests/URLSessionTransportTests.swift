import Foundation
import PresenceTransport
import Testing

@testable import PresenceURLSession

/// On Linux URLSession compiles and has no WebSocket: what can be shown is that the transport is of the right form.
@Suite struct URLSessionTransportTests {
    @Test func `the dialler is one that the library can use`() {
        let dialler: any Dialler = URLSessionDialler()
        #expect(dialler is URLSessionDialler)
    }
}

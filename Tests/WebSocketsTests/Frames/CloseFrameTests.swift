import Expectations
import Testing

@testable import TestSupport
@testable import WebSockets

struct CloseFrameTests {
    @Test func `the codes that may be sent are those of RFC 6455 and its registry`() {
        for code in [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1013, 1014, 3000, 4999] as [UInt16] {
            expect(CloseFrame.mayBeSent(code))
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] as [UInt16] {
            expect(!CloseFrame.mayBeSent(code))
        }
    }

    @Test(
        arguments: [
            ([3], 1002), ([0x13, 0x88], 1002), ([0xFF, 0xFF], 1002), ([3, 0xE8, 0xFF], 1007),
            ([3, 0xE8, 0xED, 0xA0, 0x80], 1007),
        ] as [([UInt8], Int)])
    func `an invalid close frame is answered with its fault`(payload: [UInt8], code: Int) async throws {
        try await withServer { server in
            let client = try RawClient.upgraded(port: server.port)
            let socket = await server.opened()
            try client.send(RawClient.frame(8, payload))
            try expect(client.readFrame().closeCode, equals: code)
            expect(client.readToEnd(), equals: [])
            await expect(server.closed(socket), equals: .byServer(code: UInt16(code)))
        }
    }
}

import Expectations
import Foundation
import Glibc
import Testing

@testable import Installation

/// The messages to the service manager, received by a socket in its place.
@Suite struct ServiceManagerTests {
    /// A socket that receives datagrams, at a path or an abstract name (`@…`).
    private final class Manager {
        let name: String
        private let descriptor: Int32

        init(abstract: Bool = false) throws {
            let id = "presence-notify-\(UUID().uuidString)"
            name = abstract ? "@" + id : FileManager.default.temporaryDirectory.appending(path: id).path
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = abstract ? [0] + Array(name.utf8.dropFirst()) : Array(name.utf8)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            try #require(bound == 0)
        }

        deinit {
            close(descriptor)
            unlink(name)
        }

        /// The next message, for which it waits by default; `nil` if there is none.
        func message(waits: Bool = true) -> String? {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            let count = recv(descriptor, &bytes, bytes.count, waits ? 0 : Int32(MSG_DONTWAIT))
            return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }

    @Test(arguments: [false, true])
    func `each step is one message, to a path or an abstract name`(abstract: Bool) throws {
        let manager = try Manager(abstract: abstract)
        let told = try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": manager.name]))
        // A reload before the server is ready does not make it ready.
        told.reloading()
        told.reloaded()
        told.ready(status: "serving")
        expect(manager.message(), equals: "READY=1\nSTATUS=serving")
        told.reloading()
        expect(manager.message()?.wholeMatch(of: /RELOADING=1\nMONOTONIC_USEC=[0-9]+/) != nil)
        told.reloaded()
        expect(manager.message(), equals: "READY=1")
        told.alive()
        expect(manager.message(), equals: "WATCHDOG=1")
        told.stopping()
        expect(manager.message(), equals: "STOPPING=1\nSTATUS=stopping")
        expect(manager.message(waits: false), equals: nil)
    }

    @Test(arguments: [[:], ["NOTIFY_SOCKET": ""], ["WATCHDOG_USEC": "30000000"]])
    func `no message is sent without a socket`(environment: [String: String]) throws {
        try expect(ServiceManager(environment: environment) == nil)
    }

    @Test(arguments: ["relative", "vsock:2:1234", "/" + String(repeating: "x", count: 107)])
    func `an address that is not a socket is an error that names it`(name: String) {
        #expect {
            _ = try ServiceManager(environment: ["NOTIFY_SOCKET": name])
        } throws: {
            "\($0)".contains(name)
        }
    }

    @Test func `a manager that has ended, or does not read, costs nothing`() throws {
        var manager: Manager? = try Manager()
        let told = try #require(try ServiceManager(environment: ["NOTIFY_SOCKET": manager!.name]))
        for _ in 0..<10_000 { told.alive() }
        manager = nil
        told.stopping()
    }

    @Test(
        arguments: [
            ("30000000", nil, 30_000), ("2000", nil, 2), ("30000000", "\(getpid())", 30_000), ("30000000", "1", nil),
            ("0", nil, nil), ("soon", nil, nil), (nil, nil, nil),
        ] as [(String?, String?, Int64?)])
    func `the watchdog is for the process that it names`(time: String?, process: String?, expected: Int64?) throws {
        var environment = ["NOTIFY_SOCKET": "/nowhere"]
        environment["WATCHDOG_USEC"] = time
        environment["WATCHDOG_PID"] = process
        try expect(ServiceManager(environment: environment)?.watchdog, equals: expected)
    }

    @Test func `a part that hangs keeps the process from saying that it is well`() async throws {
        let manager = try Manager()
        let told = try #require(
            try ServiceManager(environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "2000"]))
        let (parts, answer) = AsyncStream<Void>.makeStream()
        let asked = AsyncStream<Void>.makeStream()
        let task = Task {
            await told.keepAlive {
                asked.continuation.yield()
                for await _ in parts { break }
            }
        }
        var questions = asked.stream.makeAsyncIterator()
        await questions.next()
        expect(manager.message(waits: false), equals: nil)
        answer.yield()
        // It is checked again only after it has reported.
        await questions.next()
        expect(manager.message(), equals: "WATCHDOG=1")
        expect(manager.message(waits: false), equals: nil)
        task.cancel()
        answer.finish()
        await task.value
    }
}

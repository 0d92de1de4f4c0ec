import ArgumentParser
import Foundation

/// `presence-load baseline`: the server to which every figure is compared.
struct BaselineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "baseline",
        abstract: "A server that only accepts, upgrades and sends prepared bytes: the least work that is possible.",
        discussion: """
            A text message S subscribes its connection and is answered S. P and any bytes after it are sent as one text \
            message to every subscriber, with one send() each, and answered A and the publication's number. It knows \
            no tokens, no sessions and no state. It prints the line `listening on URL` once it serves, and ends on \
            SIGTERM.
            """
    )

    @Option(help: "The address to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 picks a free one.")
    var port: UInt16 = 0

    @Option(help: "The core to run on.")
    var pin: Int?

    @Flag(help: "Send what was published in one turn of the loop with one send() a subscriber, at the turn's end.")
    var coalesce = false

    func run() throws {
        try Core.pin(to: pin)
        let server = try BaselineServer(host: host, port: port, coalesces: coalesce)
        print("listening on \(server.url)")
        fflush(nil)
        try server.run(until: Interrupt.shared.descriptor)
        if server.droppedMessages > 0 {
            let bytes = formatted(server.droppedBytes)
            let text = "dropped \(formatted(server.droppedMessages)) messages of slow readers, \(bytes) bytes\n"
            StandardFile.errors.write(Data(text.utf8))
        }
    }
}

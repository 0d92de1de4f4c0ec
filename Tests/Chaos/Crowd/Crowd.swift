import Foundation
import PresenceKit

/// Hundreds of PresenceKit clients in one process. A driver gives them orders and reads their shown state: lines of
/// JSON on standard input and output.
///
///     → {"make":"k1","user":"k1","url":"ws://…","token":"…","watch":["p1","p2"]}
///     → {"leave":"k1"}    → {"come":"k1"}    → {"status":"k1","chosen":"busy","number":6}
///     → {"name":"k1","displayName":"…","number":7}
///     → {"follow":"k1","conversation":"g1"}
///     → {"say":"k1","conversation":"g1","message":"k1-1","text":"…","number":8}
///     ← {"at":1763…,"client":"k1","state":"live"}
///     ← {"at":1763…,"client":"k1","conversation":"g1","log":["1 p1-1","2 k1-1"]}       place and id of each message
///     ← {"at":1763…,"client":"k1","number":7,"saved":true}
/// It ends when its input ends.
///
/// It ends when its input does.
@main
struct Crowd {
    static func main() async {
        signal(SIGPIPE, SIG_DFL)
        var members: [String: Member] = [:]
        // Reading blocks, so it has a thread of its own.
        for await line in lines() {
            guard let order = try? JSONDecoder().decode(Order.self, from: Data(line.utf8)) else {
                FileHandle.standardError.write(Data("not an order: \(line)\n".utf8))
                exit(1)
            }
            if let name = order.make {
                members[name] = Member(name, order)
            } else if let name = order.leave {
                await members[name]?.client.disconnect()
            } else if let name = order.come {
                members[name]?.client.connect()
            } else if let name = order.status {
                members[name]?.choose(order.chosen == "busy" ? .busy : .auto, number: order.number ?? 0)
            } else if let name = order.name {
                members[name]?.rename(order.displayName ?? "", number: order.number ?? 0)
            } else if let name = order.follow {
                members[name]?.follow(order.conversation ?? "")
            } else if let name = order.say {
                members[name]?.send(order)
            }
        }
    }

    private static func lines() -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream<String>.makeStream()
        Thread.detachNewThread {
            while let line = readLine() { continuation.yield(line) }
            continuation.finish()
        }
        return lines
    }
}

/// An order of the driver.
struct Order: Decodable {
    var make: String?
    var leave: String?
    var come: String?
    var status: String?
    var name: String?
    var follow: String?
    var say: String?

    var user: String?
    var url: URL?
    var token: String?
    var watch: [String]?
    var chosen: String?
    var displayName: String?
    var number: Int?
    var conversation: String?
    var message: String?
    var text: String?
}

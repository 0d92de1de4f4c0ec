import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// Random requests of one connection about a group and its members, sent at once or some ms apart, without waiting for
/// answers. A model that runs the requests one after the other predicts each answer and the final state.
final class OrderHistory: DrawnHistory {
    private let world: World
    private let ana: SimulatedClient
    private var random: SplitMix64
    private var group = ""
    private var requests = 100
    private var count = 0
    var tally: [String: Int] { ["requests": count] }

    // The model.
    private var isCyIn = true
    private var isBobBlocked = false
    private var name = "Trip"
    private var display = "Ana"
    private var messages: [(id: String, text: String)] = []
    private var expected: [Int: ([String: Any]) -> Bool] = [:]
    /// The direct conversation with Bob.
    private var pair = ""
    private var told = 0

    convenience init(seed: UInt64, on redis: SimulatedRedis) throws {
        try self.init(seed: seed, on: redis, isOpen: false)
    }

    /// - Parameter isOpen: The lanes do not keep the order (a deliberate bug).
    init(seed: UInt64, on redis: SimulatedRedis, isOpen: Bool) throws {
        random = SplitMix64(seed)
        world = try World(shards: 2, seed: seed, redis: redis)
        ana = SimulatedClient("ana", in: world)
        for shard in world.shards { shard.logic.letsRequestsPass = isOpen }
    }

    func play() throws {
        try ana.connect(to: world.shards[0])
        try SimulatedClient("cy", in: world).connect(to: world.shards[1])
        ana.sendText(#"{"type":"createConversation","id":51,"participants":["bob","cy"],"name":"Trip"}"#)
        ana.sendText(#"{"type":"createConversation","id":52,"participants":["bob"]}"#)
        ana.sendText(#"{"type":"updateProfile","id":53,"changes":{"displayName":"Ana"}}"#)
        ana.sendText(#"{"type":"subscribe","id":54,"users":["ana"]}"#)
        try world.run(until: "the conversations are made") { answer(to: 52) != nil && answer(to: 54) != nil }
        for (id, place) in [(51, \OrderHistory.group), (52, \.pair)] {
            self[keyPath: place] = (answer(to: id)?["conversation"] as? [String: Any])?["id"] as? String ?? ""
        }
        for _ in 0..<3 {
            for _ in 0..<Int.random(in: 2...10, using: &random) {
                ask()
                if Bool.random(using: &random) { try world.run(for: Milliseconds.random(in: 1...3, using: &random)) }
            }
            try world.run(until: "all is answered") { expected.keys.allSatisfy { answer(to: $0) != nil } }
            try compare()
        }
    }

    private func compare() throws {
        for (id, fits) in expected.sorted(by: { $0.key < $1.key }) {
            let answer = answer(to: id)!
            guard fits(answer) else { throw HistoryFault(description: "request \(id) was answered \(answer)") }
        }
        let ids = ana.texts.compactMap { (parsed($0)["id"] as? Int) }.filter { expected[$0] != nil }
        guard ids == ids.sorted() else { throw HistoryFault(description: "answered out of order: \(ids)") }
        expected = [:]
    }

    private func answer(to id: Int) -> [String: Any]? {
        ana.texts.lazy.filter { $0.contains("\"id\":\(id)") }.map(parsed).first { $0["id"] as? Int == id }
    }

    private func parsed(_ text: String) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]) ?? [:]
    }

    private func send(_ type: String, _ members: String, _ fits: @escaping ([String: Any]) -> Bool) {
        requests += 1
        count += 1
        expected[requests] = fits
        ana.sendText(#"{"type":"\#(type)","id":\#(requests),\#(members)}"#)
    }

    private func isDone(_ answer: [String: Any]) -> Bool { answer["type"] as? String != "error" }

    private func ask() {
        let here = #""conversation":"\#(group)""#
        switch Int.random(in: 0..<11, using: &random) {
        case 0:
            isCyIn = true
            send("changeMembers", here + #","add":["cy"]"#, isDone)
        case 1:
            isCyIn = false
            send("changeMembers", here + #","remove":["cy"]"#, isDone)
        case 2, 3:
            messages.append(("m\(requests)", "text \(requests)"))
            let (number, message) = (messages.count, messages[messages.count - 1])
            send("send", here + #","message":{"id":"\#(message.id)","text":"\#(message.text)"}"#) { answer in
                (answer["message"] as? [String: Any])?["seq"] as? Int == number
            }
        case 4:
            guard let place = messages.indices.randomElement(using: &random) else { return }
            messages[place].text = ""
            send("deleteMessage", here + #","message":"\#(messages[place].id)""#, isDone)
        case 5:
            name = "name \(requests)"
            send("renameConversation", here + #","name":"\#(name)""#, isDone)
        case 6:
            let (isCyIn, last, name) = (isCyIn, messages.count, name)
            send("getConversation", here) { answer in
                let seen = answer["conversation"] as? [String: Any] ?? [:]
                return (seen["participants"] as? [String])?.contains("cy") == isCyIn && seen["last"] as? Int == last
                    && seen["name"] as? String == name
            }
        case 7:
            let texts = messages.map(\.text)
            send("getMessages", here) { answer in
                (answer["messages"] as? [[String: Any]])?.compactMap { $0["text"] as? String } == texts
            }
        case 8:
            isBobBlocked.toggle()
            send(isBobBlocked ? "block" : "unblock", #""users":["bob"]"#, isDone)
        case 9:
            let isBlocked = isBobBlocked
            told += 1
            send("send", #""conversation":"\#(pair)","message":{"id":"d\#(told)","text":"hello"}"#) { answer in
                (answer["code"] as? String == "forbidden") == isBlocked
            }
        default:
            display = "Ana \(requests)"
            let shown = display
            send("updateProfile", #""changes":{"displayName":"\#(display)"}"#, isDone)
            send("get", #""users":["ana"]"#) { answer in
                let profile = (answer["users"] as? [[String: Any]])?.first?["profile"] as? [String: Any]
                return profile?["displayName"] as? String == shown
            }
        }
    }
}

import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// One of a `TalkHistory`, with the client of a careful app: what was not answered is asked again, one request of a
/// conversation at a time, and messages are followed from the last change that was heard of.
final class TalkPerson {
    struct Held {
        var messages: [Int64: (id: String, text: String, version: Int64, isDeleted: Bool)] = [:]
        var newest: Int64 = 0
        /// The last change that it was told of.
        var change: Int64 = 0
        var isFollowing = false
        /// Where what it holds begins, since it began anew.
        var from: Int64 = 1
        /// What was asked for and acknowledged: the shadow of the own mark.
        var read: Int64 = 0
        /// What each member had read, by the newest version of the conversation.
        var version: Int64 = 0
        var reads: [String: Int64] = [:]
    }

    private struct Wish {
        /// The request without its id.
        let json: String
        let talk: String
        var message: String?
        var mark: Int64 = 0
    }

    let name: String
    private let place: Int
    private unowned let history: TalkHistory
    private let client: SimulatedClient
    private(set) var held: [String: Held] = [:]
    /// In their order; the first of each conversation is under way.
    private var wishes: [Wish] = []
    private var underWay: [Int: String] = [:]
    private var following: [Int: String] = [:]
    private var asked: [Int: String] = [:]
    private var requests = 0
    private var seen = 0
    private var isIn = false
    private var again: Milliseconds = 0

    init(_ name: String, at place: Int, in history: TalkHistory) {
        self.name = name
        self.place = place
        self.history = history
        client = SimulatedClient(name, in: history.world)
    }

    func isIn(_ talk: String) -> Bool { held[talk] != nil }
    func enter(_ talk: String) { if held[talk] == nil { held[talk] = Held() } }
    var isDone: Bool { isIn && wishes.isEmpty && held.values.allSatisfy(\.isFollowing) }
    var state: String {
        "in: \(isIn), wishes: \(wishes.map(\.json).prefix(3)), held: \(held.values.map(\.isFollowing))"
    }

    // MARK: Wishes

    func create(_ members: String) { wish(#""type":"createConversation",\#(members)"#, "new \(wishes.count)") }

    func write(_ text: String, in talk: String, with more: String) {
        let id = "\(name)-\(text)"
        let after = held[talk]?.newest ?? 0
        wish(
            #""type":"send","conversation":"\#(talk)","message":{"id":"\#(id)","text":"\#(text)"\#(more)},"after":\#(after)"#,
            talk,
            message: id)
    }

    func markRead(_ talk: String, upTo seq: Int64) {
        let seq = min(max(seq, 0), held[talk]?.newest ?? 0)
        wish(#""type":"mark","conversation":"\#(talk)","read":\#(seq)"#, talk, mark: seq)
    }

    func edit(_ talk: String, _ place: Int, to text: String) {
        guard let id = own(talk, place) else { return }
        wish(#""type":"editMessage","conversation":"\#(talk)","message":"\#(id)","text":"\#(text)""#, talk)
    }

    func delete(_ talk: String, _ place: Int) {
        guard let id = own(talk, place) else { return }
        wish(#""type":"deleteMessage","conversation":"\#(talk)","message":"\#(id)""#, talk)
    }

    private func own(_ talk: String, _ place: Int) -> String? {
        let own = held[talk]!.messages.values.map(\.id).filter { $0.hasPrefix(name) }.sorted()
        return own.isEmpty ? nil : own[place % own.count]
    }

    private func wish(_ json: String, _ talk: String, message: String? = nil, mark: Int64 = 0) {
        wishes.append(Wish(json: json, talk: talk, message: message, mark: mark))
        keepGoing()
    }

    func rest(_ isAway: Bool) {
        if isIn { say(#""type":"activity","state":"\#(isAway ? "background" : "active")""#) }
    }

    func askAll() {
        for talk in held.keys.sorted() { asked[say(#""type":"getConversation","conversation":"\#(talk)""#)] = talk }
    }

    // MARK: Speaking

    func connect() {
        isIn = false
        (underWay, following) = ([:], [:])
        for talk in held.keys { held[talk]!.isFollowing = false }
        client.dial(history.world.shards[place])
    }

    /// Does what can be done now. What a connection brought before it ended is heard before there is another one.
    func keepGoing() {
        guard client.isConnected else { return }
        guard isIn, history.world.now >= again else { return }
        for (talk, state) in held.sorted(by: { $0.key < $1.key })
        where !state.isFollowing && !following.values.contains(talk) {
            let cursor =
                state.change > 0 ? #","after":\#(state.newest),"messagesVersion":\#(state.change)"# : #","after":0"#
            following[say(#""type":"subscribe","conversations":[{"id":"\#(talk)"\#(cursor)}]"#)] = talk
        }
        var busy = Set(underWay.values)
        for wish in wishes where busy.insert(wish.talk).inserted { underWay[say(wish.json)] = wish.talk }
    }

    @discardableResult
    private func say(_ json: String) -> Int {
        requests += 1
        client.sendText(#"{"id":\#(requests),\#(json)}"#)
        return requests
    }

    // MARK: Hearing

    func read() {
        while seen < client.texts.count {
            seen += 1
            let data = Data(client.texts[seen - 1].utf8)
            guard let message = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else { continue }
            hear(message)
        }
        if !client.isConnected { connect() }
    }

    private func hear(_ message: [String: Any]) {
        let id = message["id"] as? Int ?? 0
        switch message["type"] as? String {
        case "connected":
            isIn = true
            say(#""type":"subscribe","conversationList":true"#)
        case "subscribed": if let talk = following.removeValue(forKey: id) { begin(message, talk) }
        case "message": take(message)
        case "messagesReset": reset(message["conversation"] as? String ?? "")
        case "conversation": check(message["conversation"] as? [String: Any] ?? [:])
        case "conversationCreated":
            let talk = message["conversation"] as? [String: Any] ?? [:]
            history.learn(talk["id"] as? String ?? "", isGroup: talk["kind"] as? String == "group")
            fulfil(id)
        case "sent":
            let sent = message["message"] as? [String: Any] ?? [:]
            let (name, seq) = (sent["id"] as? String ?? "", number(sent["seq"]))
            history.talkOf[name] = message["conversation"] as? String
            if let before = history.acknowledged.updateValue(seq, forKey: name), before != seq {
                history.fail("\(name) was acknowledged as \(before) and as \(seq)")
            }
            fulfil(id)
        case "ok", "messageUpdated": fulfil(id)
        case "conversationInfo":
            if let talk = asked.removeValue(forKey: id) {
                compareUnread(talk, message["conversation"] as? [String: Any] ?? [:])
            }
        case "error": refused(message, id)
        default: break
        }
        keepGoing()
    }

    private func number(_ value: Any?) -> Int64 { (value as? NSNumber)?.int64Value ?? 0 }

    private func fulfil(_ id: Int) {
        guard let talk = underWay.removeValue(forKey: id), let place = wishes.firstIndex(where: { $0.talk == talk })
        else {
            return
        }
        let wish = wishes.remove(at: place)
        if wish.mark > 0 { held[talk]!.read = max(held[talk]!.read, wish.mark) }
    }

    private func refused(_ message: [String: Any], _ id: Int) {
        let code = message["code"] as? String
        following[id] = nil
        if code == "unavailable" || code == "rate_limited" {
            underWay[id] = nil
            again = history.world.now + 300
        } else if code == "conflict", (message["message"] as? String) == "the message is deleted" {
            fulfil(id)
        } else if code == "not_found", history.keepFor > 0 {
            fulfil(id)
        } else {
            history.fail("\(name) was answered \(message)")
        }
    }

    // MARK: Messages

    private func begin(_ message: [String: Any], _ talk: String) {
        for part in message["conversations"] as? [[String: Any]] ?? [] {
            if part["reset"] != nil {
                if history.keepFor == 0 { history.fail("\(name) was reset") }
                let messages = part["messages"] as? [[String: Any]] ?? []
                let from = messages.first.map { number($0["seq"]) } ?? number(part["first"])
                held[talk]!.messages = [:]
                (held[talk]!.from, held[talk]!.newest) = (from, from - 1)
            }
            for each in part["messages"] as? [[String: Any]] ?? [] { hold(each, talk) }
            held[talk]!.change = number(part["messagesVersion"])
        }
        held[talk]!.isFollowing = message["more"] == nil
    }

    /// What it has not heard of has gone.
    private func reset(_ talk: String) {
        if history.keepFor == 0 { history.fail("\(name) was told to begin anew") }
        held[talk]?.isFollowing = false
    }

    private func take(_ event: [String: Any]) {
        guard let talk = event["conversation"] as? String, let state = held[talk], state.isFollowing else { return }
        let change = number(event["conversationVersion"])
        if change != state.change + 1 {
            history.fail("\(name) heard change \(change) after \(state.change) of \(talk)")
        }
        held[talk]!.change = change
        hold(event["message"] as? [String: Any] ?? [:], talk)
    }

    private func hold(_ message: [String: Any], _ talk: String) {
        let (seq, version) = (number(message["seq"]), number(message["version"]))
        if seq > held[talk]!.newest + 1 { history.fail("\(name) heard of \(seq) after \(held[talk]!.newest)") }
        held[talk]!.newest = max(held[talk]!.newest, seq)
        guard version > held[talk]!.messages[seq]?.version ?? 0 else { return }
        held[talk]!.messages[seq] = (
            message["id"] as? String ?? "", message["text"] as? String ?? "", version, message["deletedAt"] != nil
        )
    }

    private func check(_ conversation: [String: Any]) {
        guard let talk = conversation["id"] as? String, held[talk] != nil else { return }
        let version = number(conversation["version"])
        guard version > held[talk]!.version else { return }
        held[talk]!.version = version
        for member in conversation["members"] as? [[String: Any]] ?? [] {
            let (user, read) = (member["user"] as? String ?? "", number(member["read"]))
            if read < held[talk]!.reads[user] ?? 0 { history.fail("the mark of \(user) went back to \(read)") }
            held[talk]!.reads[user] = read
        }
    }

    // MARK: The end

    func compare(_ talk: String, with messages: [StoredMessage]) {
        // What has gone, nobody is told of.
        let first = max(messages.first?.seq ?? (history.keepFor > 0 ? .max : 1), held[talk]!.from)
        let messages = messages.filter { $0.seq >= first }
        let mine = held[talk]!.messages.filter { $0.key >= first }
        for message in messages {
            let text = String(decoding: message.text, as: UTF8.self).dropFirst().dropLast()
            guard let found = mine[message.seq] else {
                history.fail("\(name) lacks \(message.seq) of \(talk)")
                continue
            }
            let isSame = found.id == message.id && found.text == text && found.version == message.version
            if !isSame || found.isDeleted != (message.deletedAt > 0) {
                history.fail("\(name) has \(found) of \(talk), where the store has version \(message.version)")
            }
        }
        if mine.count != messages.count { history.fail("\(name) has \(mine.count) of \(messages.count) messages") }
    }

    /// What counting would say: all after what was read, and after the last that one wrote.
    private func compareUnread(_ talk: String, _ conversation: [String: Any]) {
        let state = held[talk]!
        let wrote = state.messages.filter { $0.value.id.hasPrefix(name + "-") }.keys.max() ?? 0
        let first = number(conversation["first"])
        let seen = max(state.read, wrote, first - 1)
        let shadow = state.messages.keys.count { $0 > seen } + Int(max(0, state.from - 1 - seen))
        if (conversation["lastMessage"] != nil) != (number(conversation["last"]) >= first) {
            history.fail("\(name) is told of a last message of \(talk) that is not there, or of none")
        }
        if number(conversation["unread"]) != shadow {
            history.fail("\(name) has \(shadow) unread of \(talk), and is told \(conversation["unread"] ?? "nothing")")
        }
    }
}

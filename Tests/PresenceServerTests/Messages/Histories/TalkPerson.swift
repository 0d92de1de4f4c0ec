import Foundation
import PresenceProtocol

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A request that a client of a `TalkHistory` repeats until it is answered.
struct TalkWish {
    /// The script that carries it out.
    let script: Script
    /// The request without its id.
    let json: String
    /// Each conversation has one request under way at a time.
    let talk: String
    var mark: Int64 = 0
    var delivered: Int64 = 0
    /// The id of the message to delete.
    var deletes: String?
    /// The group's new name.
    var name: String?
    var settings = TalkSettings()
    /// Whether others may see read marks.
    var receipts: Bool?
    /// Whether the other member of the direct conversation is blocked.
    var blocks: Bool?
    /// The time of the first attempt.
    var askedAt: Milliseconds = 0
    /// The number of attempts.
    var times = 0
    var hasLostAnswer = false
}

/// A user's own settings of a conversation; `nil`: none, or for a time only.
struct TalkSettings {
    var isMuted: Bool?
    var isArchived: Bool?
    /// A setting was requested more than once, so the first request may have arrived last.
    var isUncertain = false
}

/// A message as a client has it.
struct TalkMessage {
    let id: String
    let text: String
    let version: Int64
    let isDeleted: Bool
    let isUrgent: Bool
}

/// A client of a `TalkHistory` that behaves like a careful app: it repeats unanswered requests, has one request of a
/// conversation under way at a time, and follows messages from the last change that it received.
final class TalkPerson {
    struct Held {
        var messages: [Int64: TalkMessage] = [:]
        var newest: Int64 = 0
        /// The last change received.
        var change: Int64 = 0
        var isFollowing = false
        /// The first number that the client has, since its last restart.
        var from: Int64 = 1
        /// The highest mark requested and acknowledged: a model of the user's own mark.
        var read: Int64 = 0
        var delivered: Int64 = 0
        var settings = TalkSettings()
    }

    let name: String
    private let place: Int
    unowned let history: TalkHistory
    let client: SimulatedClient
    var held: [String: Held] = [:]
    var list = TalkList()
    /// Whether others see read marks, as acknowledged; `nil`: unknown.
    var receipts: Bool? = true
    private var isUncertain = false
    /// The request for the list, and whether it was answered.
    var listing: Int?
    var isListed = false
    /// In order; the first one of each conversation is under way.
    var wishes: [TalkWish] = []
    var underWay: [Int: String] = [:]
    var following: [Int: String] = [:]
    var asked: [Int: String] = [:]
    private var requests = 0
    var seen = 0
    var isIn = false
    /// Whether the account is deleted.
    var isGone = false
    var again: Milliseconds = 0

    init(_ name: String, at place: Int, in history: TalkHistory) {
        self.name = name
        self.place = place
        self.history = history
        client = SimulatedClient(name, in: history.world)
    }

    /// As far as the client knows.
    func isIn(_ talk: String) -> Bool {
        guard !isGone, held[talk] != nil else { return false }
        // A user removed before their first list received no event.
        return list.entries[talk].map { !$0.isRemoved } ?? !isListed
    }
    func enter(_ talk: String) { if held[talk] == nil { held[talk] = Held() } }
    var isDone: Bool {
        isGone || isIn && isListed && wishes.isEmpty && held.allSatisfy { $0.value.isFollowing || !isIn($0.key) }
    }
    var isCreating: Bool { wishes.contains { $0.talk.hasPrefix("new ") } }
    /// Whether the end of a block is requested or about to be.
    var unblocks: Bool { wishes.contains { $0.blocks == false } }
    var state: String {
        "in: \(isIn), wishes: \(wishes.map(\.json).prefix(3)), held: \(held.values.map(\.isFollowing))"
    }

    // MARK: Requests

    func create(_ members: String) {
        let script: Script = members.contains("\"key\"") ? .create : .direct
        wish(script, #""type":"createConversation",\#(members)"#, "new \(wishes.count)")
    }

    func write(_ text: String, in talk: String, with more: String) {
        let id = "\(name)-\(text)"
        let after = held[talk]?.newest ?? 0
        wish(
            .send,
            #""type":"send","conversation":"\#(talk)","message":{"id":"\#(id)","text":"\#(text)"\#(more)},"#
                + #""after":\#(after)"#,
            talk)
    }

    func markRead(_ talk: String, upTo seq: Int64) {
        let seq = min(max(seq, 0), held[talk]?.newest ?? 0)
        wish(.mark, #""type":"mark","conversation":"\#(talk)","read":\#(seq)"#, talk, mark: seq)
    }

    func markDelivered(_ talk: String, upTo seq: Int64) {
        let seq = min(max(seq, 0), held[talk]?.newest ?? 0)
        var wish = TalkWish(
            script: .mark, json: #""type":"mark","conversation":"\#(talk)","delivered":\#(seq)"#, talk: talk)
        wish.delivered = seq
        add(wish)
    }

    func rename(_ talk: String, to name: String) {
        var wish = TalkWish(
            script: .rename, json: #""type":"renameConversation","conversation":"\#(talk)","name":"\#(name)""#,
            talk: talk)
        wish.name = name
        add(wish)
    }

    func edit(_ talk: String, _ place: Int, to text: String) {
        guard let id = message(in: talk, place) else { return }
        wish(
            .editMessage, #""type":"editMessage","conversation":"\#(talk)","message":"\#(id)","text":"\#(text)""#, talk)
    }

    func delete(_ talk: String, _ place: Int, ofOthers: Bool = false) {
        guard let id = message(in: talk, place, ofOthers: ofOthers) else { return }
        var wish = TalkWish(
            script: .deleteMessage, json: #""type":"deleteMessage","conversation":"\#(talk)","message":"\#(id)""#,
            talk: talk)
        wish.deletes = id
        add(wish)
    }

    private func message(in talk: String, _ place: Int, ofOthers: Bool = false) -> String? {
        let ids = held[talk]!.messages.values.map(\.id).filter { $0.hasPrefix(name) != ofOthers }.sorted()
        return ids.isEmpty ? nil : ids[place % ids.count]
    }

    func set(_ talk: String, _ what: Int) {
        let (json, settings): (String, TalkSettings) =
            switch what {
            case 0: (#""muted":true"#, TalkSettings(isMuted: true))
            case 1: (#""muted":false"#, TalkSettings(isMuted: false))
            case 2: (#""archived":true"#, TalkSettings(isArchived: true))
            case 3: (#""archived":false"#, TalkSettings(isArchived: false))
            default: (#""muted":true,"muteFor":\#(what)"#, TalkSettings())
            }
        wish(.settings, #""type":"conversationSettings","conversation":"\#(talk)",\#(json)"#, talk, settings: settings)
    }

    /// - Parameter change: Adds (`add`) or removes (`remove`) the user.
    func change(_ talk: String, _ change: String, _ user: String) {
        wish(.members, #""type":"changeMembers","conversation":"\#(talk)","\#(change)":["\#(user)"]"#, talk)
    }

    func block(_ user: String, _ isBlocked: Bool) {
        let json = #""type":"\#(isBlocked ? "block" : "unblock")","users":["\#(user)"]"#
        var wish = TalkWish(script: .visibility, json: json, talk: "own")
        wish.blocks = isBlocked
        add(wish)
    }

    func showReceipts(_ isShown: Bool) {
        let json = #""type":"setVisibility","visibility":{"receipts":"\#(isShown ? "everyone" : "nobody")"}"#
        var wish = TalkWish(script: .receipts, json: json, talk: "own")
        wish.receipts = isShown
        add(wish)
    }

    func adopt(receipts: Bool, after times: Int) {
        isUncertain = isUncertain || times > 1
        self.receipts = isUncertain ? nil : receipts
    }

    func wish(
        _ script: Script, _ json: String, _ talk: String, mark: Int64 = 0, settings: TalkSettings = TalkSettings()
    ) {
        add(TalkWish(script: script, json: json, talk: talk, mark: mark, settings: settings))
    }

    private func add(_ wish: TalkWish) {
        wishes.append(wish)
        keepGoing()
    }

    /// Whether this script has just carried out a request of this client for the first time, and its answer is to be
    /// lost.
    func losesAnswer(of script: Script, _ arguments: [String], on place: Int) -> Bool {
        guard place == self.place, arguments.contains(name) else { return false }
        let index = wishes.firstIndex {
            $0.script == script && !$0.hasLostAnswer && underWay.values.contains($0.talk)
        }
        if let index { wishes[index].hasLostAnswer = true }
        return index != nil
    }

    func rest(_ isAway: Bool) {
        if isIn { send(#""type":"activity","state":"\#(isAway ? "background" : "active")""#) }
    }

    func askAll() {
        for talk in held.keys.sorted() where isIn(talk) {
            asked[send(#""type":"getConversation","conversation":"\#(talk)""#)] = talk
        }
    }

    // MARK: Sending

    func connect() {
        (isIn, isListed, listing) = (false, false, nil)
        (underWay, following, asked) = ([:], [:], [:])
        for talk in held.keys { held[talk]!.isFollowing = false }
        client.dial(history.world.shards[place])
    }

    /// Sends the next requests. Messages received before a disconnect are handled before the next connection.
    func keepGoing() {
        guard client.isConnected else { return }
        guard isIn, history.world.now >= again else { return }
        if !isListed, listing == nil {
            let known = list.known.sorted { $0.key < $1.key }.map { #""\#($0.key)":\#($0.value)"# }
            listing = send(#""type":"subscribe","conversationList":true,"known":{\#(known.joined(separator: ","))}"#)
        }
        for (talk, state) in held.sorted(by: { $0.key < $1.key })
        where !state.isFollowing && isIn(talk) && !following.values.contains(talk) {
            let cursor =
                state.change > 0 ? #","after":\#(state.newest),"messagesVersion":\#(state.change)"# : #","after":0"#
            following[send(#""type":"subscribe","conversations":[{"id":"\#(talk)"\#(cursor)}]"#)] = talk
        }
        var busy = Set(underWay.values)
        for place in wishes.indices where busy.insert(wishes[place].talk).inserted {
            if wishes[place].times == 0 { wishes[place].askedAt = history.world.now }
            wishes[place].times += 1
            underWay[send(wishes[place].json)] = wishes[place].talk
        }
    }

    @discardableResult
    func send(_ json: String) -> Int {
        requests += 1
        client.sendText(#"{"id":\#(requests),\#(json)}"#)
        return requests
    }
}

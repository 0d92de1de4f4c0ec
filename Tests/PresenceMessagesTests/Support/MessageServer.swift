import EventLoops
import Foundation

@testable import PresenceKit

/// A server of conversations and messages in memory, by the protocol's rules, with scripted failures and rejections.
final class MessageServer: Sendable {
    typealias Object = [String: any Sendable]

    struct Talk {
        var members: [String]
        var log: [Object] = []
        /// The version at which each message last changed; the newest is that of the conversation.
        var version = 0
        var reads: [String: Int] = [:]
        var delivered: [String: Int] = [:]
        /// The settings of each member: muted, archived.
        var settings: [String: Object] = [:]
        /// The server no longer has changes before this version.
        var forgottenBefore = 0
    }

    struct State {
        var talks: [String: Talk] = [:]
        var notices = Notices()
        var peers: [Int: Peer] = [:]
        var lastPeer = 0
        var asked: [Object] = []
        /// The errors for the next requests, by type.
        var refusals: [String: [Object]] = [:]
        /// At the next request of a type, breaks the connection before or after handling it, or does not answer.
        var cuts: [String: Cut] = [:]
        var isThere = true
        var partLimit = 50
    }

    enum Cut { case before, after, silence }

    struct Peer {
        let say: @Sendable ([UInt8]) -> Void
        let cut: @Sendable () -> Void
        var user = "ana"
        var follows: Set<String> = []
        var lists = false
        var isNotified = false
    }

    let state = Locked(State())

    init(_ talks: [String: [String]] = ["c1": ["ana", "bob"]]) {
        state.withLock { state in
            for (id, members) in talks { state.talks[id] = Talk(members: members) }
        }
    }

    // MARK: For tests

    func asked(_ type: String) -> [Object] { state.withLock { $0.asked.filter { $0["type"] as? String == type } } }
    func refuse(_ type: String, _ error: Object) { state.withLock { $0.refusals[type, default: []].append(error) } }
    func cut(_ type: String, _ cut: Cut) { state.withLock { $0.cuts[type] = cut } }
    func texts(in talk: String) -> [String] {
        state.withLock { $0.talks[talk]!.log.map { $0["text"] as? String ?? "" } }
    }

    /// Breaks all connections.
    func cutAll() {
        let peers = state.withLock { state in
            defer { state.peers = [:] }
            return state.peers.values.map(\.cut)
        }
        peers.forEach { $0() }
    }

    /// Sets whether the server can be reached.
    func isThere(_ isThere: Bool) {
        state.withLock { $0.isThere = isThere }
        if !isThere { cutAll() }
    }

    /// Another user sends a message.
    func write(_ text: String, from user: String = "bob", in talk: String = "c1") {
        say(state.withLock { Self.store(["id": "\(user)-\(UUID())", "text": text], from: user, in: talk, &$0) })
    }

    func edit(_ seq: Int, to text: String, in talk: String = "c1") {
        say(
            state.withLock { state in
                state.talks[talk]!.version += 1
                let version = state.talks[talk]!.version
                state.talks[talk]!.log[seq - 1]["text"] = text
                state.talks[talk]!.log[seq - 1]["version"] = version
                return Self.publish(state.talks[talk]!.log[seq - 1], in: talk, state)
            })
    }

    func mark(_ user: String, delivered: Int? = nil, read: Int? = nil, in talk: String = "c1") {
        say(
            state.withLock { state in
                Self.mark(user, delivered, read, in: talk, &state)
                return Self.list(talk, state)
            })
    }

    /// Sends an object to all clients.
    func publish(_ object: Object) {
        say(state.withLock { $0.peers.values.map { ($0, object) } })
    }

    // MARK: The rules

    typealias Saying = (peer: Peer, object: Object)

    private func say(_ sayings: [Saying]) { for saying in sayings { saying.peer.say(Self.bytes(saying.object)) } }

    static func bytes(_ object: Object) -> [UInt8] {
        [UInt8](try! JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]))
    }

    func join(_ peer: Peer) -> Int {
        state.withLock { state in
            state.lastPeer += 1
            state.peers[state.lastPeer] = peer
            return state.lastPeer
        }
    }

    func leave(_ peer: Int) { state.withLock { $0.peers[peer] = nil } }

    func receive(_ bytes: [UInt8], from number: Int) {
        guard let asked = (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] else { return }
        let object = Self.sendable(asked)
        let type = object["type"] as? String ?? ""
        let (sayings, cut) = state.withLock { state -> ([Saying], (@Sendable () -> Void)?) in
            guard let peer = state.peers[number] else { return ([], nil) }
            state.asked.append(object)
            if let refusal = state.refusals[type]?.first {
                state.refusals[type]!.removeFirst()
                let error = ["type": "error", "id": object["id"]!, "message": "no"].merging(refusal) { $1 }
                // A client whose `connect` is rejected is disconnected.
                return ([(peer, error)], type == "connect" ? peer.cut : nil)
            }
            let cut = state.cuts.removeValue(forKey: type)
            if cut == .before { return ([], peer.cut) }
            if cut == .silence { return ([], nil) }
            let answer = Self.answer(object, type, number, &state)
            return cut == nil ? (answer, nil) : (answer.filter { $0.object["id"] == nil }, peer.cut)
        }
        say(sayings)
        cut?()
    }

    private static func sendable(_ object: [String: Any]) -> Object {
        object.mapValues { value -> any Sendable in
            switch value {
            case let text as String: text
            case let number as Int: number
            case let object as [String: Any]: sendable(object)
            case let array as [Any]: array.map { ($0 as? [String: Any]).map(sendable) ?? ["": "\($0)"] }
            default: "\(value)"
            }
        }
    }
}

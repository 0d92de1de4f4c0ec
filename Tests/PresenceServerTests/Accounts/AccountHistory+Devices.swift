import Foundation
import PresenceProtocol
import Redis

@testable import PresenceCore
@testable import PresenceServer
@testable import Simulator

/// A signed-in device, modelled by the rules in the protocol's documentation: the valid answer for each of its refresh
/// tokens.
struct DeviceModel {
    enum Answer: Equatable {
        case newest(Int64)
        case reused, gone
    }

    /// The number of the newest token.
    private var counter: Int64 = 1
    /// When each token was made, by Redis' clock.
    private var made: [Int64: Timestamp] = [:]
    private(set) var isOver = false

    /// Returns the expected answer for the token with this number.
    mutating func refresh(with shown: Int64, at now: Timestamp) -> Answer {
        guard !isOver else { return .gone }
        if shown >= counter {
            counter = shown + 1
            made[counter] = now
        } else if shown < counter - 1, made[shown + 1].map({ $0 + 10_000 <= now }) ?? true {
            // The token stopped being the newest when the next one was made.
            isOver = true
            return .reused
        }
        return .newest(counter)
    }
}

/// Checks the scripts' results for devices and pictures against a model, which also yields the allowed answers.
struct AccountModel {
    struct Shown: Hashable {
        let grant: String
        let counter: Int64
    }

    private var devices: [String: DeviceModel] = [:]
    /// The results of scripts, by the token that was used.
    private(set) var said: [Shown: [DeviceModel.Answer]] = [:]
    private(set) var deleted: Set<String> = []
    /// The name of the uploaded picture, by user; nil after it was removed.
    private(set) var pictures: [String: String?] = [:]
    private(set) var faults: [String] = []
    /// The numbers of tokens that were renewed, answered with the newest again, and rejected as reused.
    private(set) var renewed = 0, repeated = 0, reused = 0

    mutating func record(_ script: Script, _ arguments: [String], _ answer: Result<RedisValue, RedisFailure>) {
        guard case .success(let value) = answer, let words = value.array, let word = words.first?.string,
            arguments.count > 3
        else { return }
        switch script {
        case .refreshGrant where word != "FENCED": recordRefresh(arguments, words)
        case .deleteAccount where word == "OK":
            deleted.insert(arguments[3])
            pictures[arguments[3]] = nil
        case .setPhoto where word == "OK":
            pictures[arguments[3]] = .some(arguments[4].isEmpty ? nil : arguments[4])
        case .changeAccount where word == "OK" && arguments.contains("photoURL"):
            pictures[arguments[3]] = .some(nil)
        default: break
        }
    }

    private mutating func recordRefresh(_ arguments: [String], _ words: [RedisValue]) {
        guard let now = Timestamp(arguments[0]), let counter = Int64(arguments[5]) else {
            return faults.append("a refresh with \(arguments)")
        }
        let shown = Shown(grant: arguments[4], counter: counter)
        var device = devices[shown.grant] ?? DeviceModel()
        let expected = deleted.contains(arguments[3]) ? .gone : device.refresh(with: counter, at: now)
        devices[shown.grant] = device
        let answer: DeviceModel.Answer? =
            switch words.first?.string {
            case "OK": words.last?.int.map { .newest(Int64($0)) }
            case "REUSED": .reused
            case "GONE": .gone
            default: nil
            }
        if answer != expected { faults.append("\(shown) at \(now) was said to be \(words), and is \(expected)") }
        said[shown, default: []].append(expected)
        switch expected {
        case .newest(counter + 1) where said[shown]?.count == 1: renewed += 1
        case .newest: repeated += 1
        case .reused: reused += 1
        case .gone: break
        }
    }

    func isOver(_ grant: String, of user: String) -> Bool {
        deleted.contains(user) || devices[grant]?.isOver == true
    }
}

extension AccountHistory {
    /// Refreshes with a user's newest known token, or sometimes with an earlier one.
    func refresh() {
        // Sometimes a token of a deleted account.
        let isAnybodys = Int.random(in: 0..<8, using: &random) == 0
        let users = tokens.keys.filter { isAnybodys || !model.deleted.contains($0) }.sorted()
        guard let tokens = users.randomElement(using: &random).flatMap({ tokens[$0] }),
            let device = tokens.keys.sorted().randomElement(using: &random)
        else { return }
        let known = tokens[device]!
        let newest = known.keys.max()!
        let behind = [0, 0, 0, 0, 1, 1, 2, Int64.random(in: 0...newest, using: &random)].randomElement(using: &random)!
        guard let text = known[max(1, newest - behind)], let shown = RefreshToken.read(text)?.token else { return }
        ask("POST", "/v1/sessions/refresh", ["refreshToken": text]) { [unowned self] call in
            receive(call, of: shown)
        }
    }

    private func receive(_ call: SimulatedCall, of shown: RefreshToken) {
        let (user, grant) = (shown.user.string, shown.grant.string)
        let said = model.said[.init(grant: grant, counter: shown.counter)] ?? []
        switch (call.status, call.reason) {
        case (200, _):
            guard let counter = keepToken(call), said.contains(.newest(counter)) else {
                return mustHold(false, "\(shown) was answered \(call.json), said was \(said)")
            }
        case (401, "token_reused"): mustHold(said.contains(.reused), "\(shown) is said to be used: \(said)")
        case (401, "token_expired"): mustHold(model.isOver(grant, of: user), "\(shown) is said to be over: \(said)")
        case (503, _): break
        default: mustHold(false, "\(shown) was answered \(call.status ?? 0) \(call.json)")
        }
    }

    /// Stores the refresh token of an answer by its device and number, and checks that a number has only one text.
    @discardableResult
    func keepToken(_ call: SimulatedCall) -> Int64? {
        guard let text = call.json["refreshToken"] as? String, let token = RefreshToken.read(text)?.token else {
            return nil
        }
        let (user, grant) = (token.user.string, token.grant.string)
        let before = tokens[user]?[grant]?.updateValue(text, forKey: token.counter)
        if tokens[user]?[grant] == nil { tokens[user, default: [:]][grant] = [token.counter: text] }
        mustHold(before == nil || before == text, "\(token) has two texts")
        return token.counter
    }

    // MARK: Pictures

    /// Removes a picture, or replaces it with an address or an uploaded picture. No file is written.
    func changePicture() {
        guard let owner = someone else { return }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: ask("DELETE", "/v1/me/photo", [:], token: owner.access)
        case 1:
            let address = "https://example.org/\(Int.random(in: 0..<3, using: &random)).jpg"
            ask("PATCH", "/v1/me", ["changes": ["photoURL": address]], token: owner.access)
        default: upload(owner.user)
        }
    }

    /// Acts like a server that read the user's picture just now, or some time ago.
    private func upload(_ text: String) {
        let shard = pick(world.shards)
        guard let user = UserID(text), shard.logic.link.isLive else { return }
        let keys = shard.logic.partitions.keys(of: user)
        let former = (try? world.redis.ask(["HGET", keys.user(user), "photo"]).get())?.string.flatMap { StoredName($0) }
        let incarnation = shard.logic.link.incarnation
        let name = StoredName(near: user, in: shard.logic.partitions)
        let addresses = [StoredFile.Kind.picture, .thumbnail].map { "\"photo:\(StoredFile(name, $0).text)\"" }
        world.after(Milliseconds.random(in: 0...80, using: &random)) { [world] in
            _ = world.redis.run(
                .setPhoto,
                keys: [
                    keys.shards, keys.floor, keys.user(user), keys.account(user), keys.key(.photo, name.id),
                    keys.key(.photo, (former ?? name).id),
                ],
                arguments: [
                    String(world.redisNow), keys.events, incarnation, user.string, name.text, former?.text ?? "",
                ] + addresses)
        }
    }

    /// Compares the stored pictures with the last results of the scripts.
    func checkPictures() throws {
        for (text, name) in model.pictures.sorted(by: { $0.key < $1.key }) {
            let user = UserID(text)!
            let keys = world.shards[0].logic.partitions.keys(of: user)
            let held = try texts(["HMGET", keys.user(user), "photo", "profile"])
            mustHold(held[0] == name, "\(user) has the picture \(held[0] ?? "none"), and not \(name ?? "none")")
            let shown = held[1]?.contains("\"photo:") == true
            mustHold(shown == (name != nil), "\(user) has the picture \(name ?? "none"), and shows \(held[1] ?? "")")
            guard let name else { continue }
            mustHold(held[1]?.contains("\"photo:\(name).jpg\"") == true, "\(user) shows another picture than \(name)")
            let key = try world.redis.command(["GET", keys.key(.photo, StoredName(name)!.id)]).get().string
            mustHold(key == text, "the picture of \(user) is \(key ?? "nobody")'s")
        }
    }
}

import CAssets
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Users ask each other to become contacts. Also answers the requests that conversations begun by strangers are.
final class ContactRequests: Feature {
    static let plan = FeaturePlan(
        name: "contactRequests",
        scripts: [
            .askContact, .answerContact, .asking, .deliverAsked, .withdrawAsked, .acceptAsked, .forgetAsked,
        ], keys: [.asked])

    /// Users whom one user may have asked within the last 30 days without an answer.
    static let mostAsked = 100
    /// A user may ask 20 others, then one in three minutes, on each shard.
    private static let rate = RateLimit(every: 180_000, burst: 20)

    unowned let shard: ShardLogic
    let asking: Asking
    /// Each user's open requests, for the user's sessions.
    private let lists: OwnState
    private var asks = Rates<UserID>(rate)

    init(_ shard: ShardLogic) {
        self.shard = shard
        asking = Asking(shard)
        lists = OwnState(shard, "asked") { [unowned shard] (user) throws(RedisFailure) in
            let value = try await shard.command(["HGETALL", shard.partitions.keys(of: user).asked(user)])
            if value.array?.isEmpty == true { return OpenContactRequests.none }
            let list = OpenContactRequests(value, at: shard.clock.redisNow)
            return list.own(bytes: shard.configuration.limits.maxServerMessageBytes)
        }
    }

    func register(in registry: inout Registry) {
        asking.register(in: &registry)
        lists.register(in: &registry)
        registry.sessionGreeted.append { [unowned self] in lists.greeted($0) }
        // The event has no list: few shards have a session of the user, and those read it.
        registry.event("J") { [unowned self] event in event.subject.map(lists.changed) }
        registry.request(
            "requestContact", decode: { (members, _) throws(DecodingFailure) in try ContactAsk(members) },
            answer: { [unowned self] (ask, context) async throws(Refusal) in
                try charge(context.user)
                try await self.ask(ask, of: context.user, by: context.writer)
                return .ok
            })
        registry.request(
            "answerContact", decode: { (members, _) throws(DecodingFailure) in try ContactAnswer(members) },
            answer: { [unowned self] (answer, context) async throws(Refusal) in
                try await self.answer(answer, of: context.user, by: context.writer)
                return .ok
            })
        registerRoutes(in: &registry)
    }

    func readAgain() async throws(RedisFailure) { try await lists.readAgain() }
    func becameLive() { lists.readMissed() }

    private func charge(_ user: UserID) throws(Refusal) {
        let now = shard.clock.now
        asks.expire(now: now)
        guard let wait = asks.charge(1, to: user, at: now) else { return }
        throw Refusal(.rateLimited, "this user asks too many others: nothing was done", retryAfter: wait)
    }

    // MARK: Asking

    /// Asks another user. The answer shows neither whether they get the request nor what they do with it.
    func ask(_ ask: ContactAsk, of user: UserID, by writer: Writer?) async throws(Refusal) {
        guard ask.user != user else {
            throw Refusal(.validationFailed, "users do not ask themselves", field: "user")
        }
        if let text = ask.text { try shard.feature(Moderation.self)?.checkWords(of: text) }
        let (intent, keys) = (asking.intent(of: user), shard.partitions.keys(of: user))
        let call = ScriptCall(
            .askContact, in: keys,
            [
                "unfinished": keys.unfinished, "asked": keys.asked(user), "contacts": keys.contacts(user),
                "blocks": keys.blocks(user), "user": keys.user(user),
            ],
            [
                "intent": intent.member, "other": ask.user, "text": ask.text.map { JSONWriter.encoded($0) },
                "most": Self.mostAsked, "mostContacts": mostContacts,
            ], by: writer)
        _ = try await asking.change(call, of: user).accepted(or: ContactRefusal.self)
    }

    private var mostContacts: Int { shard.configuration[VisibilityRequests.mostContacts] }

    // MARK: Answering

    /// Answers the request to become contacts, and the one to talk, of one other user.
    func answer(_ answer: ContactAnswer, of user: UserID, by writer: Writer?) async throws(Refusal) {
        let (intent, keys) = (asking.intent(of: user), shard.partitions.keys(of: user))
        let call = ScriptCall(
            .answerContact, in: keys,
            ["unfinished": keys.unfinished, "asked": keys.asked(user), "contacts": keys.contacts(user)],
            [
                "intent": intent.member, "user": user, "other": answer.user, "isAccepted": answer.isAccepted,
                "mostContacts": mostContacts,
            ], by: writer)
        let reply = try await asking.change(call, of: user)
        let isAnswered = reply.word == "OK"
        if reply.word != "NONE" { _ = try reply.accepted(or: ContactRefusal.self) }
        // A crash before this leaves the conversation unanswered, and the client asks again.
        let isOpened =
            try await shard.feature(Conversations.self)?.answer(
                answer.user, accepts: answer.isAccepted, of: user, by: writer) ?? false
        guard isAnswered || isOpened else { throw ContactRefusal.none.refusal }
    }

    /// All requests to and of a user that are kept, as JSON: `{"from":"ana","at":…,"text":…}` or `{"to":"bob","at":…}`. Those
    /// to the user that were withdrawn or not shown are not theirs.
    func exported(of user: UserID) async throws(Refusal) -> [[UInt8]] {
        let value = try await shard.run("HGETALL", shard.partitions.keys(of: user).asked(user))
        return AskedEntry.all(in: value).filter { $0.isTo || !"xw".contains($0.state) }.map(\.json)
    }

    /// The open requests to a user, from Redis.
    func open(to user: UserID) async throws(Refusal) -> OpenContactRequests {
        OpenContactRequests(
            try await shard.run("HGETALL", shard.partitions.keys(of: user).asked(user)), at: shard.clock.redisNow)
    }
}

/// Why a script refuses a request or an answer.
enum ContactRefusal: String, RefusalWord {
    case blocks = "BLOCKS"
    case tooMany = "TOOMANY"
    case full = "FULL"
    case none = "NONE"

    var refusal: Refusal {
        switch self {
        case .blocks: Refusal(.forbidden, "this user blocks the other one")
        case .tooMany:
            Refusal(
                .tooMany, "at most \(ContactRequests.mostAsked) requests of one user wait for an answer", field: "user")
        case .full: Refusal(.tooMany, "no more users may be in the list of contacts", field: "user")
        case .none: Refusal(.notFound, "there is no such request")
        }
    }
}

extension KeyFamily {
    /// The requests between a user and others (`asked-lib.lua`).
    static let asked = KeyFamily(name: "asked", isPassing: false, type: "hash", expires: true)
}

extension Script {
    private static func changing(_ name: String, _ file: asset) -> Script {
        Script(name, file, library: policyLibrary + askedLibrary, isAcknowledged: true)
    }

    static let askContact = changing("ask-contact", asset_ask_contact())
    static let answerContact = changing("answer-contact", asset_answer_contact())
    static let asking = Script(
        "asking", asset_asking(), library: profileLibrary + policyLibrary + askedLibrary, isAcknowledged: true)
    static let deliverAsked = changing("deliver-asked", asset_deliver_asked())
    static let withdrawAsked = changing("withdraw-asked", asset_withdraw_asked())
    static let acceptAsked = changing("accept-asked", asset_accept_asked())
    static let forgetAsked = changing("forget-asked", asset_forget_asked())
}

/// Backends' calls about requests between users.
extension ContactRequests {
    func registerRoutes(in registry: inout Registry) {
        registry.route(
            "GET", "/v1/users/{id}/contactRequests", scope: .usersRead,
            answer: { [unowned self] (call) async throws(Refusal) in
                .json(200, Array("{".utf8) + (try await open(to: call.ids[0])).member() + Array("}".utf8))
            })
        registry.route(
            "POST", "/v1/users/{id}/contactRequests", scope: .usersWrite, limits: RouteLimits(bodyBytes: 4_096),
            answer: { [unowned self] (call) async throws(Refusal) in
                let ask = try Self.decoded(call) { (body) throws(DecodingFailure) in try ContactAsk(body) }
                try await self.ask(ask, of: call.ids[0], by: nil)
                return .done
            })
        registry.route(
            "PUT", "/v1/users/{id}/contactRequests/{id}", scope: .usersWrite, limits: RouteLimits(bodyBytes: 4_096),
            answer: { [unowned self] (call) async throws(Refusal) in
                let asker = call.ids[1]
                let answer = try Self.decoded(call) { (body) throws(DecodingFailure) in
                    try ContactAnswer(asker, body)
                }
                try await self.answer(answer, of: call.ids[0], by: nil)
                return .done
            })
    }

    private static func decoded<Value>(
        _ call: HTTPCall, _ read: (RequestObject) throws(DecodingFailure) -> Value
    ) throws(Refusal) -> Value {
        do throws(DecodingFailure) { return try read(RequestObject(json: call.body)) } catch { throw Refusal(error) }
    }
}

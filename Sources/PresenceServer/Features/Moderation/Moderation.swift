import OutgoingHTTP
import PresenceCore
import PresenceProtocol

/// Decides about messages and edits before they are stored: by a list of words, and by the operator's server.
final class Moderation: Feature {
    static let plan = FeaturePlan(
        name: "moderation", keys: [.verdict], settings: settings, pools: [words, MessageHook.connections], check: check,
        reload: { configuration, shared, logger in
            guard !configuration[blockedWords].isEmpty else { return }
            await shared.object { CurrentBlockedWords(configuration) }.reload(configuration, logger)
        })

    /// Compares long texts with the words: some 0.2 ms for a KB.
    private static let words = WorkerPlan(
        "words", threads: { $0[blockedWords].isEmpty ? 0 : 1 }, queue: { _ in 1_024 })
    /// Bytes of JSON that are compared on the loop.
    private static let mostOnLoop = 512
    /// The pause before a server looks again for the verdict that another one asks for.
    private static let pause: Milliseconds = 50
    /// A server may be late with a verdict by this much before another one asks.
    private static let lateness: Milliseconds = 2_000

    private unowned let shard: ShardLogic
    private let blocked: CurrentBlockedWords?
    private let hook: MessageHook?
    /// Asks the operator's server; `nil` if there is none.
    typealias Judge = (MessageDraft, Identifier, Timestamp) async throws(OutgoingFailure) -> Verdict?
    var judge: Judge?
    /// Why a question would fail at once.
    lazy var obstacle: () -> OutgoingFailure? = { [hook] in hook?.obstacle }
    private var asked: MetricCounter!
    private var failed: MetricCounter!
    /// How long a server may take for a verdict: the wait for a place, and the call.
    private let claim: Milliseconds
    /// A quarter of the calls.
    private let mostOfUser: Int
    private var asking: [UserID: Int] = [:]
    private var deadline: DeadlineKind!
    private var pauses: [UInt64: () -> Void] = [:]
    private var lastPause: UInt64 = 0

    init(_ shard: ShardLogic) {
        self.shard = shard
        let configuration = shard.configuration
        claim = 2 * configuration[Self.timeout] + Self.lateness
        mostOfUser = max(1, configuration[Self.concurrent] / 4)
        blocked =
            configuration[Self.blockedWords].isEmpty ? nil : shard.shared.object { CurrentBlockedWords(configuration) }
        hook = MessageHook(shard)
        guard let hook else { return }
        judge = { [unowned shard] (draft, id, time) async throws(OutgoingFailure) in
            try await shard.tasks.wait { hook.ask(draft, id, at: time, done: $0) }.get()
        }
    }

    func register(in registry: inout Registry) {
        asked = registry.counter("hook_asked_total", help: "messages and edits hooks.beforeMessage was asked about")
        failed = registry.counter("hook_failed_total", help: "messages and edits without a usable answer of it in time")
        registry.gauge("hook_running", help: "calls of it that have begun or wait") { [hook] in hook?.running ?? 0 }
        guard blocked != nil || !shard.configuration[Self.url].isEmpty else { return }
        deadline = registry.deadline { [unowned self] key in
            if case .number(let number) = key { pauses.removeValue(forKey: number)?() }
        }
        shard.feature(Messages.self)?.moderation = self
    }

    func stop() { hook?.stop() }

    /// Stores a text by `store`, after the decision about it. Only a text that would be stored now is asked about, and only by
    /// one server at a time. The verdict is kept, so that the same request has the same outcome.
    func decide(
        _ draft: MessageDraft, _ store: (VerdictStep) async throws(Refusal) -> ScriptReply
    ) async throws(Refusal) -> ScriptReply {
        let isBlocked = try await hasBlockedWord(draft)
        guard judge != nil || isBlocked else { return try await store(.none) }
        let id = draft.digest
        let key = shard.partitions.keys(of: draft.conversation).key(.verdict, id)
        let end = shard.clock.now + 2 * claim
        while true {
            let obstacle = isBlocked ? nil : obstacle()
            // Nothing is claimed for a text that is refused without a question. (The list of words may change.)
            let isAsked = !isBlocked && (obstacle == nil || onFailure == .allow)
            let reply = try await store(VerdictStep(key: key, ask: isAsked ? claim : VerdictStep.look))
            switch reply.word {
            case "ASK" where isBlocked: throw Verdict.refusal(Self.blockedReason)
            case "ASK":
                let verdict: Verdict?
                do throws(Refusal) {
                    verdict = if let obstacle { noVerdict(obstacle.reason) } else { try await ask(draft, id) }
                } catch {
                    await forget(key)
                    throw error
                }
                guard let verdict else {
                    if isAsked { await forget(key) }
                    throw Verdict.undecided
                }
                return try await carryOut(verdict, of: draft, key, store)
            case "VERDICT":
                if let verdict = Verdict(reply[0].string ?? "") { return try await apply(verdict, key, store) }
                guard shard.clock.now < end else {
                    throw Refusal(.unavailable, "this text is being checked: nothing was changed", retryAfter: 1_000)
                }
                await wait()
            default: return reply
            }
        }
    }

    private static let blockedReason = "This text has a word that is not allowed here."

    /// A message that is stored is known by its id from then on, so its verdict is kept only if it could not be stored.
    private func carryOut(
        _ verdict: Verdict, of draft: MessageDraft, _ key: String,
        _ store: (VerdictStep) async throws(Refusal) -> ScriptReply
    ) async throws(Refusal) -> ScriptReply {
        let isKept = draft.isEdit || verdict.isRefusal
        if isKept { try await keep(verdict, key) }
        do throws(Refusal) {
            let reply = try await apply(verdict, key, store)
            if !isKept, reply.word != "OK" { try? await keep(verdict, key) }
            return reply
        } catch {
            if !isKept { try? await keep(verdict, key) }
            throw error
        }
    }

    private func keep(_ verdict: Verdict, _ key: String) async throws(Refusal) {
        _ = try await shard.run("SET", key, verdict.stored, "PX", String(verdict.life), changes: true)
    }

    private func apply(
        _ verdict: Verdict, _ key: String, _ store: (VerdictStep) async throws(Refusal) -> ScriptReply
    ) async throws(Refusal) -> ScriptReply {
        switch verdict {
        case .allow: return try await store(VerdictStep(key: key))
        case .replace(let text): return try await store(VerdictStep(key: key, replacement: text))
        case .refuse(let reason): throw Verdict.refusal(reason)
        }
    }

    private func hasBlockedWord(_ draft: MessageDraft) async throws(Refusal) -> Bool {
        guard let words = blocked?.words, !words.isEmpty else { return false }
        let texts = draft.texts
        guard draft.text.count > Self.mostOnLoop else { return texts.contains(where: words.areIn) }
        return try await shard.work(Self.words) { texts.contains(where: words.areIn) }
    }

    /// Refuses a short text of another kind, if it has a blocked word.
    func checkWords(of text: String) throws(Refusal) {
        if let words = blocked?.words, words.areIn(text) { throw Verdict.refusal(Self.blockedReason) }
    }

    // MARK: The hook

    /// - Returns: The verdict, also the one for a failure; `nil` if a failure refuses.
    /// - Throws: if the hook was not asked, because too many texts wait, or this one waited for too long.
    private func ask(_ draft: MessageDraft, _ id: Identifier) async throws(Refusal) -> Verdict? {
        guard let judge else { return .allow }
        guard asking[draft.from, default: 0] < mostOfUser else { throw Self.tooMany }
        asking[draft.from, default: 0] += 1
        defer {
            let left = asking[draft.from, default: 1] - 1
            asking[draft.from] = left > 0 ? left : nil
        }
        asked.value += 1
        do throws(OutgoingFailure) {
            if let verdict = try await judge(draft, id, shard.clock.redisNow) { return verdict }
            return noVerdict("no decision")
        } catch {
            switch error {
            // Another server may have a place.
            case .overloaded, .stopped: throw Self.tooMany
            default: return noVerdict(error.reason)
            }
        }
    }

    private func noVerdict(_ reason: String) -> Verdict? {
        failed.value += 1
        shard.logSparsely(
            "hook failed", ["hook": "beforeMessage", "reason": reason, "then": onFailure.rawValue], level: .warning)
        return onFailure == .allow ? .allow : nil
    }

    private var onFailure: OnFailure { shard.configuration[Self.onFailure] }

    private static let tooMany = Refusal(
        .unavailable, "too many texts wait to be checked: nothing was changed", retryAfter: 1_000)

    /// If this fails, the key expires.
    private func forget(_ key: String) async { _ = try? await shard.command(["DEL", key]) }

    private func wait() async {
        lastPause += 1
        let number = lastPause
        await shard.tasks.wait { done in
            pauses[number] = { done(()) }
            shard.deadlines.set(deadline, .number(number), at: shard.clock.now + Self.pause)
        }
    }
}

extension KeyFamily {
    /// The verdict about a text, by a hash of the request; `-` while a server asks for it.
    static let verdict = KeyFamily(
        name: "verdict", isPassing: true, type: "string", expires: true, isPlacedApart: true)
}

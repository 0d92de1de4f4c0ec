import EventLoops
import Installation
import OutgoingHTTP
import PresenceCore
import PresenceProtocol
import Tokens

/// The documents of all providers, shared by the shards of a server.
///
/// It guarantees that
/// - a provider is asked by one request at a time, and all others that need its answer wait for that one; no other provider's and
///   no other request waits;
/// - it is asked again when its documents are due, and for a key that is not among them at most every five minutes, whatever
///   tokens name;
/// - after a failure it is not asked for some seconds; meanwhile its former documents count for a day.
final class ProviderDirectory: Sendable {
    private struct State {
        var documents: ProviderDocuments?
        var isLoaded = false
        var isAsked = false
        /// Codes that are being traded.
        var trading = 0
        /// The last time that an unknown key was asked for.
        var unknownAt: Timestamp?
        var failedAt: Timestamp?
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let states = Locked<[String: State]>([:])

    static let client = OutgoingClient(
        name: "sign-in", mostRunning: Provider.most * (mostTrading + 1), userAgent: "Presence-SignIn")
    private static let mostWaiting = 1_000
    /// The bound for one provider, so that a slow one leaves room for the others.
    private static let mostTrading = 8
    static let patience = 8.0
    private static let mostBytes = 262_144
    private static let (pauseForUnknown, pauseAfterFailure) = (300_000 as Milliseconds, 5_000 as Milliseconds)
    private static let graceAfterEnd: Milliseconds = 86_400_000

    private enum Act {
        case use(ProviderDocuments)
        /// The documents are due, and count until the provider has answered.
        case useAndAsk(ProviderDocuments)
        case ask, wait
        case refuse(IdentityRefusal)
    }

    /// A provider's documents, asked for if they are due, or if they lack a key.
    ///
    /// - Parameter kid: The key that is needed; `nil` for the endpoints alone.
    func documents(
        of provider: Provider, with kid: String?, on shard: ShardLogic
    ) async throws(Refusal) -> ProviderDocuments {
        while true {
            switch decide(provider, kid, at: shard.clock.redisNow) {
            case .use(let documents): return documents
            case .useAndAsk(let documents):
                shard.tasks.run { [self] in await ask(provider, on: shard) }
                return documents
            case .refuse(let refusal): throw refusal.refusal
            case .ask: await ask(provider, on: shard)
            case .wait:
                await withCheckedContinuation { continuation in
                    let isOver = states.withLock { states in
                        guard states[provider.name]?.isAsked == true else { return true }
                        states[provider.name]?.waiting.append(continuation)
                        return false
                    }
                    if isOver { continuation.resume() }
                }
            }
        }
    }

    private func decide(_ provider: Provider, _ kid: String?, at now: Timestamp) -> Act {
        states.withLock { states in
            var state = states[provider.name] ?? State()
            defer { states[provider.name] = state }
            func isWithin(_ time: Milliseconds, of began: Timestamp?) -> Bool {
                began.map { $0 <= now && now < $0 + time } ?? false
            }
            func ask() -> Act {
                if state.isAsked {
                    return state.waiting.count < Self.mostWaiting ? .wait : .refuse(.unavailable(after: 1_000))
                }
                let wait = (state.failedAt ?? 0) + Self.pauseAfterFailure - now
                if state.isLoaded, isWithin(Self.pauseAfterFailure, of: state.failedAt) {
                    return .refuse(.unavailable(after: wait))
                }
                state.isAsked = true
                return .ask
            }
            guard let documents = state.documents else { return ask() }
            // Far ahead, if the clock was set back.
            let isDue = now >= documents.until || documents.until > now + ProviderDocuments.longest
            guard let kid, documents.keys[kid] == nil else {
                guard isDue else { return .use(documents) }
                let act = ask()
                guard now < documents.until + Self.graceAfterEnd else { return act }
                if case .ask = act { return .useAndAsk(documents) }
                return .use(documents)
            }
            if state.isAsked || isDue { return ask() }
            guard !isWithin(Self.pauseForUnknown, of: state.unknownAt) else {
                return state.failedAt == nil ? .refuse(.token(.unknownKey)) : .refuse(.unavailable(after: 1_000))
            }
            let act = ask()
            if case .ask = act { state.unknownAt = now }
            return act
        }
    }

    // MARK: Trading codes

    /// Reserves one of the provider's places for calls.
    func reserve(_ provider: Provider) -> Bool {
        states.withLock { states in
            guard states[provider.name, default: State()].trading < Self.mostTrading else { return false }
            states[provider.name, default: State()].trading += 1
            return true
        }
    }

    func release(_ provider: Provider) { states.withLock { $0[provider.name]?.trading -= 1 } }

    // MARK: Asking

    private func ask(_ provider: Provider, on shard: ShardLogic) async {
        let isLoaded = states.withLock { $0[provider.name]?.isLoaded ?? false }
        let file = ProviderFile(directory: shard.configuration.dataPath, provider: provider)
        let now = shard.clock.redisNow
        let kept = isLoaded ? nil : try? await shard.work(.files) { file.read() }
        if let kept, let documents = await read(kept, of: provider, on: shard), now < documents.until,
            documents.until <= now + ProviderDocuments.longest
        {
            return finish(provider, .success(documents), at: now)
        }
        do throws(OutgoingFailure) {
            let texts = try await fetch(provider, at: now)
            guard let documents = await read(texts, of: provider, on: shard) else { throw .broken }
            finish(provider, .success(documents), at: shard.clock.redisNow)
            // Without the file, only the next start asks again.
            _ = try? await shard.work(.files) { try? file.store(texts) }
        } catch {
            shard.log(
                "provider unavailable", ["provider": provider.name, "reason": error.reason], level: .warning)
            finish(provider, .failure(error), at: shard.clock.redisNow)
        }
    }

    func finish(
        _ provider: Provider, _ outcome: Result<ProviderDocuments, OutgoingFailure>, at now: Timestamp
    ) {
        let waiting = states.withLock { states in
            var state = states[provider.name] ?? State()
            defer { states[provider.name] = state }
            (state.isAsked, state.isLoaded) = (false, true)
            switch outcome {
            case .success(let documents): (state.documents, state.failedAt) = (documents, nil)
            case .failure: state.failedAt = now
            }
            defer { state.waiting = [] }
            return state.waiting
        }
        for each in waiting { each.resume() }
    }

    private func read(
        _ texts: ProviderDocuments.Texts, of provider: Provider, on shard: ShardLogic
    ) async -> ProviderDocuments? {
        let documents = try? await shard.work(.signatures) { ProviderDocuments(texts, of: provider) }
        return documents ?? nil
    }

    private func fetch(
        _ provider: Provider, at now: Timestamp
    ) async throws(OutgoingFailure) -> ProviderDocuments.Texts {
        let configuration = try await get(ProviderDocuments.configurationAddress(of: provider))
        let text = String(decoding: configuration.body, as: UTF8.self)
        guard let url = ProviderDocuments.keysURL(in: text, of: provider) else { throw .broken }
        let keys = try await get(url)
        return ProviderDocuments.Texts(
            issuer: provider.issuer, until: now + ProviderDocuments.lifetime(keys), configuration: text,
            keys: String(decoding: keys.body, as: UTF8.self))
    }

    private func get(_ url: String) async throws(OutgoingFailure) -> OutgoingResponse {
        var request = OutgoingRequest("GET", url)
        request.headers = [("accept", "application/json")]
        request.limits.total = Self.patience
        request.limits.responseBytes = Self.mostBytes
        let response = try await Self.client.send(request)
        guard response.status == 200 else { throw .broken }
        return response
    }
}

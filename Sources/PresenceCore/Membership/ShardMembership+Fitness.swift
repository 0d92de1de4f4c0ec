import Redis
import Synchronization

/// Whether this Redis is suitable.
extension ShardMembership {
    /// A Redis that evicts keys when it is full would silently lose users' data. If CONFIG is not allowed, INFO is asked.
    func checkPolicy(_ attempt: Int, next: @escaping () -> Void) {
        let names = ["maxmemory-policy", "hash-max-listpack-value"]
        shard.store.command(["CONFIG", "GET"] + names, lane: .commands) { [self] result in
            guard attempt == self.attempt else { return }
            if case .failure(let failure) = result, failure.isTransient {
                return proceed(attempt, result, "maxmemory-policy") { _ in }
            }
            // Names and values, of each Redis.
            let words = (try? result.get())?.array?.compactMap(\.string) ?? []
            let settings = stride(from: 0, to: words.count - 1, by: 2).map { (name: words[$0], value: words[$0 + 1]) }
            if let policy = settings.first(where: { $0.name == names[0] && $0.value != "noeviction" })?.value {
                return refuse("this Redis evicts keys (maxmemory-policy \(policy)): it must be noeviction")
            }
            if let value = settings.first(where: { $0.name == names[1] && Int($0.value) ?? 512 < 512 })?.value {
                warnOfMemory(value)
            }
            checkVersion(attempt, next: next)
        }
    }

    /// Managed services disable CONFIG but not INFO, which has the policy too.
    private func checkVersion(_ attempt: Int, next: @escaping () -> Void) {
        shard.store.command(["INFO"], lane: .commands) { [self] result in
            guard attempt == self.attempt else { return }
            if case .failure(let failure) = result, failure.isTransient {
                return proceed(attempt, result, "INFO") { _ in }
            }
            let answer = try? result.get()
            for text in answer?.array?.compactMap(\.string) ?? [answer?.string ?? ""] {
                if let reason = Self.unfit(text) { return refuse(reason) }
            }
            next()
        }
    }

    /// Why a Redis cannot be used, by its INFO; `nil` if it can, or if the fields are missing.
    static func unfit(_ info: String) -> String? {
        // As bytes: parsing characters would delay the start of a shard by a millisecond.
        let lines = info.utf8.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        func field(_ name: String) -> Substring? {
            lines.first { $0.starts(with: "\(name):".utf8) }.map { Substring($0.dropFirst(name.utf8.count + 1)) }
        }
        if let version = field("redis_version"), let major = version.split(separator: ".").first.flatMap({ Int($0) }),
            major < 7
        {
            return "this Redis is version \(version): 7.0 or later is needed"
        }
        if let policy = field("maxmemory_policy"), policy != "noeviction" {
            return "this Redis evicts keys (maxmemory-policy \(policy)): it must be noeviction"
        }
        return nil
    }

    /// Logged once in a process, because a wrong value only costs memory.
    private func warnOfMemory(_ value: String) {
        guard !Self.hasWarned.exchange(true, ordering: .relaxed) else { return }
        shard.log(
            "users take more memory in this Redis than they need",
            ["setting": "hash-max-listpack-value", "value": value, "recommended": "512"], level: .warning)
    }
    private static let hasWarned = Atomic(false)
}

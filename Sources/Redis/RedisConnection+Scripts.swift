extension RedisConnection {
    /// Runs a script that Redis should know already. If it does not (`NOSCRIPT`: nothing ran), it is sent whole, which
    /// also makes Redis know it; commands sent in between then run before it.
    public func run(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument] = [], reply: @escaping Reply
    ) {
        take { [unowned self] result in
            // Unowned: only we call it, out of our own queue.
            guard case .failure(.server("NOSCRIPT", _)) = result else { return reply(result) }
            evaluate(script, keys: keys, arguments: arguments, reply: reply)
        } encode: {
            $0.append(evaluating: script, keys: keys, arguments: arguments)
        }
    }

    /// Runs a script by sending it whole: for a server that may not know it.
    func evaluate(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument], reply: @escaping Reply
    ) {
        send(["EVAL", .string(script.source), .init(keys.count)] + keys + arguments, reply: reply)
    }

    /// Makes Redis know the scripts. `done` is called once, when all are answered, with the first failure if there was
    /// one; a server's message then begins with the script's name.
    public func load(_ scripts: [RedisScript], done: @escaping (Result<Void, RedisFailure>) -> Void) {
        precondition(!scripts.isEmpty, "no scripts to load")
        var failure: RedisFailure?
        var missing = scripts.count
        for script in scripts {
            send(script.loading) { result in
                missing -= 1
                if case .failure(let reason) = result, failure == nil { failure = reason.naming(script) }
                if missing == 0 { done(failure.map { .failure($0) } ?? .success(())) }
            }
        }
    }
}

extension RedisFailure {
    fileprivate func naming(_ script: RedisScript) -> RedisFailure {
        guard case .server(let code, let message) = self else { return self }
        return .server(code: code, message: "script \(script.name): \(message)")
    }
}

extension RedisConnection {
    /// Runs a script that Redis should know already. If it does not (`NOSCRIPT`: nothing ran), it is sent whole, which
    /// also makes Redis know it; commands sent in between then run before it.
    public func run(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument] = [], reply: @escaping Reply
    ) {
        take { [unowned self] result in
            // Unowned: only we call it, out of our own queue.
            guard case .failure(.server("NOSCRIPT", _)) = result else { return reply(result) }
            let eval: [RedisArgument] = ["EVAL", .string(script.source), .integer(Int64(keys.count))]
            send(eval + keys + arguments, reply: reply)
        } encode: {
            $0.append(evaluating: script, keys: keys, arguments: arguments)
        }
    }

    /// The same, but answered only once `replicas` replicas have what it changed, if any are asked for. If they have not
    /// within `patience` ms, the outcome is unknown.
    ///
    /// It is pipelined with its WAIT, so that nothing comes between. The connection stands still meanwhile: that is the
    /// price of asking for replicas. `sendsSource`: send the script whole at once.
    public func run(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument], replicas: Int, patience: Int64,
        sendsSource: Bool = false, reply: @escaping Reply
    ) {
        func send(_ reply: @escaping Reply) {
            guard sendsSource else { return run(script, keys: keys, arguments: arguments, reply: reply) }
            self.send(["EVAL", .string(script.source), .init(keys.count)] + keys + arguments, reply: reply)
        }
        guard replicas > 0 else { return send(reply) }
        var answer: Result<RedisValue, RedisFailure>?
        send { answer = $0 }
        self.send(["WAIT", .init(replicas), .init(patience)]) { waited in
            guard let answer else { return reply(.failure(.timedOut(sent: true))) }
            guard case .success = answer else { return reply(answer) }
            guard case .success(let value) = waited, let count = value.int, count >= replicas else {
                return reply(.failure(.timedOut(sent: true)))
            }
            reply(answer)
        }
    }

    /// Makes Redis know the scripts. `done` is called once, when all are answered, with the first failure if there was
    /// one; a server's message then begins with the script's name.
    public func load(_ scripts: [RedisScript], done: @escaping (Result<Void, RedisFailure>) -> Void) {
        precondition(!scripts.isEmpty, "no scripts to load")
        var failure: RedisFailure?
        var missing = scripts.count
        for script in scripts {
            send(["SCRIPT", "LOAD", .string(script.source)]) { result in
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

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

    /// The same of plain text: the arguments are `first` and the others. Nothing is copied but into the command's bytes.
    public func run(
        _ script: RedisScript, keys: [String], first: String, arguments: [String], reply: @escaping Reply
    ) {
        take { [unowned self] result in
            // Unowned: as above.
            guard case .failure(.server("NOSCRIPT", _)) = result else { return reply(result) }
            evaluate(
                script, keys: keys.map(RedisArgument.string),
                arguments: ([first] + arguments).map(RedisArgument.string),
                reply: reply)
        } encode: {
            $0.append(evaluating: script, keys: keys, first: first, arguments: arguments)
        }
    }

    /// Runs a script by sending it whole: for a server that may not know it.
    func evaluate(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument], reply: @escaping Reply
    ) {
        send(["EVAL", .string(script.source), .init(keys.count)] + keys + arguments, reply: reply)
    }
}

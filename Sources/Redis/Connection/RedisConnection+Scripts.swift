extension RedisConnection {
    /// Runs a script that Redis should know already. If it does not (`NOSCRIPT`: nothing ran), it is sent whole, which
    /// also makes Redis know it.
    ///
    /// Scripts run in the order in which they are given. So one that Redis does not know is sent again when all that is
    /// under way is answered, and those that are given until then wait behind it; other commands do not. The exception: of
    /// two that are under way, the later one may run first if somebody else makes Redis know its script between them.
    public func run(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument] = [], reply: @escaping Reply
    ) {
        let call = ScriptCall(script: script, keys: keys, arguments: arguments, reply: reply)
        guard forgotten == nil else { return hold(call) }
        take { [unowned self] result in
            // Unowned: only we call it, out of our own queue.
            guard case .failure(.server("NOSCRIPT", _)) = result else { return reply(result) }
            runLater(call)
        } encode: {
            $0.append(evaluating: script, keys: keys, arguments: arguments)
        }
    }

    /// The same of plain text: the arguments are `first` and the others. Nothing is copied but into the command's bytes.
    public func run(
        _ script: RedisScript, keys: [String], first: String, arguments: [String], reply: @escaping Reply
    ) {
        func call() -> ScriptCall {
            ScriptCall(
                script: script, keys: keys.map(RedisArgument.string),
                arguments: ([first] + arguments).map(RedisArgument.string), reply: reply)
        }
        guard forgotten == nil else { return hold(call()) }
        take { [unowned self] result in
            // Unowned: as above.
            guard case .failure(.server("NOSCRIPT", _)) = result else { return reply(result) }
            runLater(call())
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

    // MARK: What Redis has forgotten

    /// Redis did not know the script.
    private func runLater(_ call: ScriptCall) {
        if forgotten == nil {
            forgotten = ForgottenScripts()
            // Its answer comes after those of all that is under way; if the connection breaks, so does its failure.
            send(["PING"]) { [unowned self] _ in goOn() }
        }
        forgotten?.refused.append(call)
    }

    private func hold(_ call: ScriptCall) {
        guard pending < options.maximumPending else { return refuse(.overloaded, call.reply) }
        forgotten?.append(call)
    }

    /// Nothing is under way any more that was given before.
    private func goOn() {
        guard let forgotten = forgotten.take() else { return }
        var unknown = Set(forgotten.refused.map(\.script.sha1))
        for call in forgotten.refused + forgotten.later {
            if unknown.remove(call.script.sha1) != nil {
                evaluate(call.script, keys: call.keys, arguments: call.arguments, reply: call.reply)
            } else {
                run(call.script, keys: call.keys, arguments: call.arguments, reply: call.reply)
            }
        }
    }
}

/// A call of a script that was not sent yet, or not to any effect.
struct ScriptCall {
    let script: RedisScript
    let keys: [RedisArgument]
    let arguments: [RedisArgument]
    let reply: RedisConnection.Reply
}

/// Calls of scripts since Redis was found to have forgotten one, in the order in which they were given.
struct ForgottenScripts {
    /// Those that Redis refused to run.
    var refused: [ScriptCall] = []
    /// Those that were given since and wait.
    private(set) var later: [ScriptCall] = []
    /// About how many bytes they have.
    private(set) var bytes = 0

    mutating func append(_ call: ScriptCall) {
        later.append(call)
        bytes += 64 + call.keys.encodedLength + call.arguments.encodedLength
    }
}

extension RedisConnection {
    /// Runs a script. The first call on a link sends its source, which makes Redis remember it; later ones send its SHA-1.
    ///
    /// Scripts run in the order of submission. So a script that Redis has forgotten since (`NOSCRIPT`: nothing ran) is sent
    /// again after all pending commands are answered, and later scripts wait behind it; other commands do not. The
    /// exception: of two pending scripts, the later one may run first if this or another client sends its source between
    /// them.
    public func run(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument] = [], reply: @escaping Reply
    ) {
        let call = ScriptCall(script: script, keys: keys, arguments: arguments, reply: reply)
        guard forgotten == nil else { return hold(call) }
        guard known.contains(script.sha1) else { return evaluate(call) }
        enqueue { [unowned self] result in
            // Unowned: only this connection calls it, from its own queue.
            guard case .failure(.server("NOSCRIPT", _)) = result else { return reply(result) }
            runLater(call)
        } encode: {
            $0.append(evaluating: script, keys: keys, arguments: arguments)
        }
    }

    /// The same for plain text: the arguments are `first` and then `arguments`. They are copied only into the command's
    /// bytes.
    public func run(
        _ script: RedisScript, keys: [String], first: String, arguments: [String], reply: @escaping Reply
    ) {
        func call() -> ScriptCall {
            ScriptCall(
                script: script, keys: keys.map(RedisArgument.string),
                arguments: ([first] + arguments).map(RedisArgument.string), reply: reply)
        }
        guard forgotten == nil else { return hold(call()) }
        guard known.contains(script.sha1) else { return evaluate(call()) }
        enqueue { [unowned self] result in
            // Unowned: as above.
            guard case .failure(.server("NOSCRIPT", _)) = result else { return reply(result) }
            runLater(call())
        } encode: {
            $0.append(evaluating: script, keys: keys, first: first, arguments: arguments)
        }
    }

    /// Runs a script by sending its source: for a server that may not know it.
    func evaluate(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument], reply: @escaping Reply
    ) {
        enqueue(reply) {
            known.insert(script.sha1)
            $0.append(command: ["EVAL", .string(script.source), .init(keys.count)] + keys + arguments)
        }
    }

    private func evaluate(_ call: ScriptCall) {
        evaluate(call.script, keys: call.keys, arguments: call.arguments, reply: call.reply)
    }

    // MARK: Scripts that Redis has forgotten

    /// Redis did not know the script.
    private func runLater(_ call: ScriptCall) {
        if forgotten == nil {
            forgotten = ForgottenScripts()
            // The answer of `PING` follows those of all pending commands. If the connection breaks, the failure of
            // `PING` follows theirs.
            send(["PING"]) { [unowned self] _ in resend() }
        }
        forgotten?.refused.append(call)
    }

    private func hold(_ call: ScriptCall) {
        guard pending < options.maximumPending else { return refuse(.overloaded, call.reply) }
        forgotten?.append(call)
    }

    /// All commands that were pending before are answered.
    private func resend() {
        guard let forgotten = forgotten.take() else { return }
        var unknown = Set(forgotten.refused.map(\.script.sha1))
        for call in forgotten.refused + forgotten.later {
            if unknown.remove(call.script.sha1) != nil {
                evaluate(call)
            } else {
                run(call.script, keys: call.keys, arguments: call.arguments, reply: call.reply)
            }
        }
    }
}

/// A call of a script that was not sent yet, or that Redis rejected as unknown.
struct ScriptCall {
    let script: RedisScript
    let keys: [RedisArgument]
    let arguments: [RedisArgument]
    let reply: RedisConnection.Reply
}

/// The calls since Redis was found to have forgotten a script, in the order of submission.
struct ForgottenScripts {
    /// Calls that Redis did not run.
    var refused: [ScriptCall] = []
    /// Later calls, which wait.
    private(set) var later: [ScriptCall] = []
    /// The approximate length of the later calls in bytes.
    private(set) var bytes = 0

    mutating func append(_ call: ScriptCall) {
        later.append(call)
        bytes += 64 + call.keys.encodedLength + call.arguments.encodedLength
    }
}

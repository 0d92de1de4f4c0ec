extension RedisConnection {
    /// Runs a script, by its SHA-1. Its source is sent before its first call on a link: by `SCRIPT LOAD`, because Redis does
    /// not keep the source of an `EVAL` that it refuses (full memory, too few replicas), and may drop that of another.
    ///
    /// Scripts run in the order of submission. So a script that Redis has forgotten since (`NOSCRIPT`: nothing ran) is sent
    /// again after all pending commands are answered, and later scripts wait behind it; other commands do not. The
    /// exception: of two pending scripts, the later one may run first if its source, or by another client that of the
    /// earlier one, is sent between them.
    public func run(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument] = [], reply: @escaping Reply
    ) {
        let call = ScriptCall(script: script, keys: keys, arguments: arguments, reply: reply)
        guard forgotten == nil else { return hold(call) }
        if !known.contains(script.sha1) { load(script) }
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
        if !known.contains(script.sha1) { load(script) }
        enqueue { [unowned self] result in
            // Unowned: as above.
            guard case .failure(.server("NOSCRIPT", _)) = result else { return reply(result) }
            runLater(call())
        } encode: {
            $0.append(evaluating: script, keys: keys, first: first, arguments: arguments)
        }
    }

    /// Runs a script by sending its source: for a server that may not know it, and that a redirected call asks once.
    func evaluate(
        _ script: RedisScript, keys: [RedisArgument], arguments: [RedisArgument], reply: @escaping Reply
    ) {
        enqueue(reply) {
            $0.append(command: ["EVAL", .string(script.source), .init(keys.count)] + keys + arguments)
        }
    }

    private final class Loading {
        var failure: RedisFailure?
    }

    /// Sends a script's source. If Redis does not take it, the calls that follow are answered with `NOSCRIPT`.
    @discardableResult
    private func load(_ script: RedisScript) -> Loading {
        let loading = Loading()
        enqueue {
            if case .failure(let failure) = $0 { loading.failure = failure }
        } encode: {
            known.insert(script.sha1)
            $0.append(command: ["SCRIPT", "LOAD", .string(script.source)])
        }
        return loading
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
        var loadings: [String: Loading] = [:]
        for call in forgotten.refused {
            let loading = loadings[call.script.sha1] ?? load(call.script)
            loadings[call.script.sha1] = loading
            enqueue {
                // Not once more: Redis does not take the source, for this reason.
                guard case .failure(.server("NOSCRIPT", _)) = $0, let failure = loading.failure else {
                    return call.reply($0)
                }
                call.reply(.failure(failure))
            } encode: {
                $0.append(evaluating: call.script, keys: call.keys, arguments: call.arguments)
            }
        }
        for call in forgotten.later { run(call.script, keys: call.keys, arguments: call.arguments, reply: call.reply) }
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

import PresenceCore

/// An answer that several tasks of a shard wait for, and that is asked for once.
final class SharedAnswer<Value> {
    private var waiting: [(Value) -> Void] = []

    func get(on shard: ShardLogic, _ ask: @escaping () async -> Value) async -> Value {
        await shard.tasks.wait { done in
            waiting.append(done)
            guard waiting.count == 1 else { return }
            shard.tasks.run { [self] in
                let value = await ask()
                let all = waiting
                waiting = []
                for each in all { each(value) }
            }
        }
    }
}

import PresenceProtocol

/// Events from Redis, which scripts have published.
extension ShardLogic {
    /// An event of a partition, as a script published it. The bytes are valid during the call.
    package func handle(event payload: UnsafeRawBufferPointer, partition: Int) {
        metrics.eventsIn += 1
        guard let event = StoreEvent(payload) else { return }
        if event.kind == StoreEvent.request { return announceRequest(event, partition: partition) }
        link.sawVersion(event.version, partition: partition)
        if let overhear { overhear(event.kind, partition) }
        if let observe, interests == nil || !isWatchersOnly(event.kind) { observe(event) }
        if trace != nil { traceChange(event, partition: partition) }
        switch event.kind {
        case StoreEvent.presence: handle(.presence, event)
        case StoreEvent.profile:
            handle(.profile, event)
            if !awaitedProfiles.isEmpty, let user = event.subject { awaitedProfiles.complete(user, event.version) }
        default: registry.events[Int(event.kind)]?(event)
        }
    }

    /// From now on `look` gets each event of all users and conversations, valid during the call, while an operator
    /// observes. With interests, events for watchers arrive once Redis has processed the subscription.
    package func beginObserving(_ look: @escaping (StoreEvent) -> Void) {
        observe = look
        if interests != nil { store.overhear(partitions.space.subjects) }
    }

    package func endObserving() {
        observe = nil
        if interests != nil { store.overhear(nil) }
    }

    /// An event for watchers of any shard, received while an operator observes (`observe`). The bytes are valid during
    /// the call.
    package func handle(overheard payload: UnsafeRawBufferPointer) {
        guard let observe, let event = StoreEvent(payload), isWatchersOnly(event.kind) else { return }
        observe(event)
    }

    /// Whether, with interests, an event is sent only to shards that watch its subject (`publish` in lib.lua).
    private func isWatchersOnly(_ kind: UInt8) -> Bool {
        kind == StoreEvent.presence || kind == StoreEvent.profile || registry.isForWatchers[Int(kind)]
    }

    /// Whether the script that published an event may have made an offer.
    package func mayOffer(_ kind: UInt8) -> Bool {
        // With interests, events for watchers do not arrive here, and "B" announces offers.
        interests == nil ? kind != StoreEvent.profile && registry.mayOffer[Int(kind)] : kind == UInt8(ascii: "B")
    }

    private func handle(_ kind: RegisterKind, _ event: StoreEvent) {
        guard let topic = watchers.person(event.subjectBytes) else {
            metrics.eventsUnwatched += 1
            return
        }
        guard event.version > topic.version(of: kind) else { return }
        guard RegisterEncoder.isBody(event.rest) else {
            return recordDamage(kind == .presence ? "presence" : "profile", of: topic.subject)
        }
        metrics.changeToWrite.record(max(0, clock.redisNow - event.at))
        policies.announce(frame(kind, of: topic.subject, event), kind, on: topic, at: event.at)
    }
}

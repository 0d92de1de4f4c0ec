/// The results of a storm.
struct StormReport: Report {
    let scenario = "storm"
    let servers: [String]
    let bystanderServer: String
    let clients: Int
    let watchedEach: Int
    let atOnce: Bool
    /// From the restart command's start.
    let restartToServingSeconds: Double?
    let restartToLastBackSeconds: Double?
    let restartToAllRightSeconds: Double?
    let servingToLastBackSeconds: Double?
    let clientsLost: Int
    let clientsRight: Int
    /// Milliseconds from the restart, and from the time at which each was due to dial, until it was connected and
    /// subscribed.
    let restartToBackMilliseconds: Latencies.Summary?
    let dialToBackMilliseconds: Latencies.Summary?
    let dialled: Int
    let endings: [String: Int]
    let unavailableAnswers: Int
    let staleNotices: Int
    let bystanders: Int
    let bystanderChangesPerSecond: Double
    /// Milliseconds from the time at which a change was due to another bystander's receipt; during: from the restart
    /// until all clients showed the truth.
    let bystanderBeforeMilliseconds: Latencies.Summary?
    let bystanderDuringMilliseconds: Latencies.Summary?
    let bystanderAfterMilliseconds: Latencies.Summary?
    let bystanderConflatedChanges: Int
    /// Messages that the clients received from the restart until all showed the truth.
    let messagesReceived: Int
    let eventsReceived: Int
    let readsMade: Int
    let serverMetrics: [ServerFigures]
    /// For all servers: the changes due to connections, and the share of them that was written one by one.
    let changesDue: Double
    let socketWritesPerChangeDue: Double?
    let eventsPerSocketWrite: Double?
    let messagesReceivedPerChangeDue: Double?
    let readsPerChangeDue: Double?
    let conflatedShare: Double?
    let ownCPUShare: Double
    let bottlenecks: [String]
    let failures: [String]
    let succeeded: Bool

    /// The counts of one server, by its metrics' names.
    struct ServerFigures: Encodable {
        let url: String
        let isRestarted: Bool
        let before: [String: Double]
        let after: [String: Double]
        /// From the restart until all clients showed the truth; after a restart from zero.
        let counted: [String: Double]
    }

    static let metrics = [
        "connections", "sessions", "connections_opened_total", "messages_received_total", "events_in_total",
        "deliveries_marked_total", "deliveries_total", "deliveries_conflated_total", "socket_writes_total",
        "socket_bytes_written_total", "batch_events_sum", "batch_events_count",
    ]

    init(_ options: StormCommand, _ measurement: StormMeasurement, _ bystanders: Bystanders.State) {
        servers = options.servers.url
        bystanderServer = options.bystanderURL
        clients = options.clients
        watchedEach = options.watch + options.watchBystanders
        atOnce = options.atOnce
        func seconds(_ instant: Instant?, since start: Instant?) -> Double? {
            guard let instant, let start else { return nil }
            return ((instant - start).inSeconds * 1e3).rounded() / 1e3
        }
        let restarted = measurement.restarted
        restartToServingSeconds = seconds(measurement.serving, since: restarted)
        restartToLastBackSeconds = seconds(measurement.allBack, since: restarted)
        restartToAllRightSeconds = seconds(measurement.allRight, since: restarted)
        servingToLastBackSeconds = seconds(measurement.allBack, since: measurement.serving)
        clientsLost = measurement.lost
        clientsRight = measurement.right
        restartToBackMilliseconds = measurement.back.summary
        dialToBackMilliseconds = measurement.comeback.summary
        dialled = measurement.dialled
        endings = measurement.endings
        unavailableAnswers = measurement.unavailable
        staleNotices = measurement.stale

        self.bystanders = options.bystanders
        bystanderChangesPerSecond = options.bystanderRate
        let end = measurement.allRight ?? measurement.allBack ?? restarted
        func summary(_ isIncluded: (Instant) -> Bool) -> Latencies.Summary? {
            var latencies = Latencies()
            for sample in bystanders.samples where isIncluded(sample.intended) { latencies.record(sample.latency) }
            return latencies.summary
        }
        bystanderBeforeMilliseconds = summary { $0 < restarted }
        bystanderDuringMilliseconds = summary { $0 >= restarted && $0 <= end }
        bystanderAfterMilliseconds = summary { $0 > end }
        bystanderConflatedChanges = bystanders.conflated

        messagesReceived = measurement.counted.messages
        eventsReceived = measurement.counted.events
        readsMade = measurement.counted.reads
        let urls = options.servers.url + [options.bystanderURL]
        let counted = urls.indices.filter(measurement.after.indices.contains).map { index -> ServerFigures in
            let (before, after) = (measurement.before[index], measurement.after[index])
            let isRestarted = measurement.atServing[index].isRestarted(since: before)
            func figures(_ value: (String) -> Double) -> [String: Double] {
                Dictionary(uniqueKeysWithValues: Self.metrics.map { ($0, value($0)) })
            }
            return ServerFigures(
                url: urls[index], isRestarted: isRestarted, before: figures { before[$0] },
                after: figures { after[$0] },
                counted: figures { isRestarted ? after[$0] : after[$0] - before[$0] })
        }
        serverMetrics = counted
        func total(_ name: String) -> Double { counted.reduce(0) { $0 + ($1.counted[name] ?? 0) } }
        func share(_ part: Double, of whole: Double) -> Double? { whole > 0 ? part / whole : nil }
        let due = total("deliveries_marked_total")
        changesDue = due
        socketWritesPerChangeDue = share(total("batch_events_count"), of: due)
        eventsPerSocketWrite = share(total("batch_events_sum"), of: total("batch_events_count"))
        messagesReceivedPerChangeDue = share(Double(messagesReceived), of: due)
        readsPerChangeDue = share(Double(readsMade), of: due)
        conflatedShare = share(total("deliveries_conflated_total"), of: due)

        ownCPUShare = measurement.counted.used.inSeconds / max((end - restarted).inSeconds, 1e-9)
        var bottlenecks = Bottlenecks.find(cpuShare: ownCPUShare, lateness: measurement.lateness)
        if bystanders.lateness > Bottlenecks.latest {
            bottlenecks.append(
                "the bystanders sent up to \(formatted(Double(bystanders.lateness) / 1e6)) ms late (p99), "
                    + "which is part of their latencies")
        }
        self.bottlenecks = bottlenecks
        failures = measurement.failures
        succeeded = failures.isEmpty
    }

    var text: String {
        func time(_ seconds: Double?) -> String { seconds.map { "\(formatted($0, digits: 2)) s" } ?? "never" }
        func figure(_ number: Double?) -> String { number.map { formatted($0, digits: 3) } ?? "none" }
        var lines = [
            "\(formatted(clients)) clients, a restart, "
                + (atOnce ? "all back at once" : "back as the protocol wants"),
            "  restart          serving after \(time(restartToServingSeconds)), last client back after "
                + "\(time(restartToLastBackSeconds)), all right after \(time(restartToAllRightSeconds))",
            "  clients          \(formatted(clientsLost)) lost, \(formatted(dialled)) times dialled, "
                + "\(formatted(clientsRight)) right at the end",
        ]
        for (name, summary) in [
            ("dialled to back  ", dialToBackMilliseconds), ("bystanders before", bystanderBeforeMilliseconds),
            ("bystanders during", bystanderDuringMilliseconds), ("bystanders after ", bystanderAfterMilliseconds),
        ] {
            if let summary { lines.append("  \(name) \(summary)") }
        }
        lines += [
            "  changes due      \(formatted(Int(changesDue))); \(figure(conflatedShare)) of them conflated, "
                + "\(figure(socketWritesPerChangeDue)) writes each, \(figure(eventsPerSocketWrite)) events a write",
            "  received         \(formatted(messagesReceived)) messages in \(formatted(readsMade)) reads, "
                + "\(formatted(eventsReceived)) of them events",
            "  this tool        \(formatted(ownCPUShare * 100)) % of a core",
        ]
        lines += bottlenecks.map { "  careful: \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}

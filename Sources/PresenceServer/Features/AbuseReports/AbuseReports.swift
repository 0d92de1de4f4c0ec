import CAssets
import Passwords
import PresenceCore
import PresenceProtocol
import Redis
import WebSockets

/// Users report users, conversations and messages; backends decide. The reported message is copied, so that its deletion
/// hides nothing.
final class AbuseReports: Feature {
    static let keepFor = Setting<Milliseconds>(
        "reports.keepFor", 90 * 24 * 3_600_000, in: 3_600_000...3_653 * 24 * 3_600_000,
        about: "How long a report is kept, with its copy of the reported message.")

    static let plan = FeaturePlan(
        name: "reports", scripts: [.evidence, .report, .decideReport], keys: [.report, .reportOf, .reports],
        settings: [keepFor])

    /// A user may report ten things, then one in six minutes, on each shard.
    private static let rate = RateLimit(every: 360_000, burst: 10)
    /// Reports that wait for a decision: some 30 MB with ordinary messages.
    static let mostOpen = 20_000

    private unowned let shard: ShardLogic
    /// All reports are in one partition: there are few of them, and their order is that of all.
    private var keys: PartitionKeys { shard.partitions.keys(0) }

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        registry.route(
            "POST", "/v1/reports", for: .users, limits: RouteLimits(bodyBytes: 16_384, rate: Self.rate),
            answer: { [unowned self] (call) async throws(Refusal) in try await report(call) })
        registry.route(
            "GET", "/v1/reports", scope: .moderationRead,
            answer: { [unowned self] (call) async throws(Refusal) in try await list(call) })
        registry.route(
            "POST", "/v1/reports/{id}", scope: .moderationWrite, limits: RouteLimits(bodyBytes: 4_096),
            answer: { [unowned self] (call) async throws(Refusal) in try await decide(call) })
    }

    private func key(_ state: ReportState) -> String { keys.key(.reports, state.list) }

    // MARK: Reporting

    private func report(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        guard let by = call.viewer else { throw Refusal(.forbidden, "only users report") }
        let request = try call.decoded { (_) throws(DecodingFailure) in try ReportRequest(call.body) }
        let message = try await evidence(of: request, for: by)
        let user = request.user ?? message.flatMap { UserID($0.from) }
        guard user != by else { throw Refusal(.validationFailed, "users do not report themselves", field: "user") }
        if let writer = call.writer { try await shard.check(writer) }
        // In the order of their making.
        let id = Identifier("r\(shard.clock.redisNow)-\(shard.randomName())")!
        let subject = [by.string, user?.string ?? "", request.conversation?.string ?? "", request.message ?? ""]
        let digest = Sodium.sha256(Array(subject.joined(separator: "\n").utf8)).hexadecimal
        var evidence: [UInt8] = []
        message?.write(to: &evidence)
        let call = ScriptCall(
            .report, in: keys,
            [
                "report": keys.key(.report, id), "repeated": keys.key(.reportOf, Identifier(digest)!),
                "open": key(.open),
            ],
            [
                "id": id, "keepFor": shard.configuration[Self.keepFor], "most": Self.mostOpen, "by": by,
                "event": event(request, id, user),
            ],
            each: [
                "user", user, "conversation", request.conversation, "messageID", request.message, "reason",
                JSONWriter.encoded(request.reason), "text", request.text.map { JSONWriter.encoded($0) }, "message",
                evidence,
            ] as [any ScriptArgument])
        let reply = try await shard.run(call).accepted(or: ReportRefusal.self)
        return .json(201, #"{"report":{"id":\#(JSONWriter.encoded(reply[0].string ?? id.string))}}"#)
    }

    /// The reported message; `nil` if none is reported.
    ///
    /// - Throws: `not_found` for everything that the user may not see, whether it exists or not.
    private func evidence(of request: ReportRequest, for user: UserID) async throws(Refusal) -> StoredMessage? {
        guard let id = request.conversation else { return nil }
        let keys = shard.partitions.keys(of: id)
        let reply = try await shard.run(
            ScriptCall(
                .evidence, in: keys,
                ["conversation": keys.conversation(id), "log": keys.log(id), "prints": keys.prints(id)],
                ["reporter": user, "user": request.user, "messageID": request.message]), changes: false, about: id
        ).accepted(or: ReportRefusal.self)
        guard let bytes = reply[0].bytes, !bytes.isEmpty else { return nil }
        guard let message = StoredMessage(bytes) else { throw MessageRefusal.unreadable }
        return message
    }

    /// For other servers: without texts, which they read with `GET`.
    private func event(_ request: ReportRequest, _ id: Identifier, _ user: UserID?) -> [UInt8] {
        var json = Array(#"{"id":"#.utf8)
        JSONWriter.string(id.string, to: &json)
        if let user { JSONWriter.member("user", user.string, to: &json) }
        if let conversation = request.conversation { JSONWriter.member("conversation", conversation.string, to: &json) }
        if let message = request.message { JSONWriter.member("message", message, to: &json) }
        JSONWriter.member("reason", request.reason, to: &json)
        return json + [UInt8(ascii: "}")]
    }

    // MARK: Deciding

    private func list(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let query = try call.decoded { (_) throws(DecodingFailure) in try ReportQuery(call.request.query) }
        let list = key(query.state)
        var (reports, after, isOver): ([StoredReport], Identifier?, Bool) = ([], query.after, false)
        // One more than asked for shows whether there is a next page.
        while reports.count <= query.limit, !isOver {
            let wanted = query.limit + 1 - reports.count
            let page = try await shard.run(
                "ZRANGEBYLEX", list, after.map { "(" + $0.string } ?? "-", "+", "LIMIT", "0", String(wanted))
            let ids = (page.array ?? []).compactMap { $0.string.flatMap { Identifier($0) } }
            isOver = ids.count < wanted
            after = ids.last ?? after
            for id in ids {
                if let report = StoredReport(id, try await shard.run("HGETALL", keys.key(.report, id))) {
                    reports.append(report)
                } else {
                    // It is no longer kept.
                    _ = try await shard.run("ZREM", list, id.string, changes: true)
                }
            }
        }
        let shown = reports.prefix(query.limit)
        var json = Array(#"{"reports":["#.utf8)
        json += Array(shown.map(\.json).joined(separator: [UInt8(ascii: ",")])) + [UInt8(ascii: "]")]
        if reports.count > shown.count, let last = shown.last { JSONWriter.member("next", last.id.string, to: &json) }
        return .json(200, json + [UInt8(ascii: "}")])
    }

    /// The act comes before the record of it: if it fails, the report stays open, and a repetition does it again.
    private func decide(_ call: HTTPCall) async throws(Refusal) -> HTTPResponse {
        let id = call.ids[0]
        let action = try call.decoded { (_) throws(DecodingFailure) in try ReportAction(call.body) }
        let held = StoredReport(id, try await shard.run("HGETALL", keys.key(.report, id)))
        guard let held else { throw ReportRefusal.none.refusal }
        switch action {
        case .accept, .dismiss: break
        case .deleteMessage: try await deleteMessage(of: held)
        case .ban: try await ban(held, call)
        }
        _ = try await shard.run(
            ScriptCall(
                .decideReport, in: keys,
                [
                    "report": keys.key(.report, id), "open": key(.open), "accepted": key(.accepted),
                    "dismissed": key(.dismissed),
                ], ["id": id, "state": action.state.rawValue, "action": action.rawValue])
        ).accepted(or: ReportRefusal.self)
        return .done
    }

    private func deleteMessage(of report: StoredReport) async throws(Refusal) {
        guard let message = report.message, let id = report.conversation, let messages = shard.feature(Messages.self)
        else { throw Refusal(.conflict, "this report is not about a message") }
        do throws(Refusal) {
            _ = try await messages.delete(message, in: id, by: nil)
        } catch  where error.message.code == .notFound {
            // It is no longer kept.
        }
    }

    private func ban(_ report: StoredReport, _ call: HTTPCall) async throws(Refusal) {
        guard let user = report.user, let banning = shard.feature(Banning.self) else {
            throw Refusal(.conflict, "this report is not about a user")
        }
        let now = shard.clock.redisNow
        let request = try call.decoded { (_) throws(DecodingFailure) in try BanRequest(call.body, at: now) }
        _ = try await banning.ban(user, request)
    }
}

/// Why a script refuses a report, or a decision.
enum ReportRefusal: String, RefusalWord {
    case nowhere = "NOWHERE"
    case none = "NONE"
    case full = "FULL"

    var refusal: Refusal {
        switch self {
        case .nowhere: Refusal(.notFound, "there is no such thing to report")
        case .none: Refusal(.notFound, "there is no such report")
        case .full: Refusal(.unavailable, "too many reports wait for a decision", retryAfter: 60_000)
        }
    }
}

extension KeyFamily {
    /// A report, with its evidence. All reports are in one partition.
    static let report = KeyFamily(name: "report", isPassing: false, type: "hash", expires: true, isPlacedApart: true)
    /// The report of a user about one thing, by a hash of both.
    static let reportOf = KeyFamily(
        name: "report-of", isPassing: false, type: "string", expires: true, isPlacedApart: true)
    /// The ids of the reports in a state, in the order of their making.
    static let reports = KeyFamily(name: "reports", isPassing: false, type: "zset", isPlacedApart: true)
}

extension Script {
    static let evidence = Script("evidence", asset_evidence(), library: messageLibrary)
    static let report = Script("report", asset_report(), isAcknowledged: true)
    static let decideReport = Script("decide-report", asset_decide_report(), isAcknowledged: true)
}

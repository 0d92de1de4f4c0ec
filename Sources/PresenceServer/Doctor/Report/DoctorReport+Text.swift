import Foundation
import PresenceCore
import PresenceProtocol

extension DoctorReport {
    /// The report for people.
    public var text: String {
        var lines = [
            "\(redis): \(Self.number(counts.users, "user", "users")), "
                + "\(Self.number(counts.sessions, "session", "sessions")), "
                + "\(Self.number(counts.conversations, "conversation", "conversations")) in \(partitions) partitions"
        ]
        if counts.unknownKeys > 0 {
            lines.append("\(Self.number(counts.unknownKeys, "key", "keys")) of other programs, not touched")
        }
        lines += ["", "leases" + (swept.map { ", last swept \(Self.age($0)) ago" } ?? ", never swept")]
        lines += leases.isEmpty ? ["  none: no server is running"] : leases.map(\.line)
        if !repaired.isEmpty {
            lines += ["", "repaired"]
            for finding in repaired { lines += finding.lines }
        }
        if !findings.isEmpty {
            lines += ["", repaired.isEmpty ? "wrong" : "still wrong"]
            for finding in findings { lines += finding.lines }
        }
        lines += ["", verdict]
        return lines.joined(separator: "\n")
    }

    private var verdict: String {
        if isHealthy { return "all is well" }
        let clearable = findings.filter(\.kind.isRepairable).count
        let more = isWhole ? "" : "; there are more errors than listed: run again after the repair"
        if clearable == 0 { return "something is wrong that repairing does not clear\(more)" }
        return clearable == findings.count
            ? "something is wrong; --repair clears it\(more)" : "something is wrong; --repair clears some of it\(more)"
    }

    /// The report for programs. Durations and times are in ms.
    public var json: String {
        struct Document: Encodable {
            struct Lease: Encodable {
                let incarnation: String
                let state: String
                let renewedAgo: Milliseconds?
                let endsIn: Milliseconds?
                let sessions: Int
            }
            struct Finding: Encodable {
                let kind: String
                let count: Int
                let subjects: [String]
                let explanation: String
                let repair: String?

                init(_ finding: DoctorFinding) {
                    kind = finding.kind.rawValue
                    count = finding.count
                    subjects = finding.subjects
                    explanation = finding.kind.explanation
                    repair = finding.kind.repair
                }
            }
            let healthy: Bool
            let redis: String
            let redisTime: Timestamp
            let partitions: Int
            let users, sessions, conversations, keys, unknownKeys: Int
            let sweptAgo: Milliseconds?
            let leases: [Lease]
            let findings: [Finding]
            let repaired: [Finding]
            let whole: Bool
        }
        let document = Document(
            healthy: isHealthy, redis: redis, redisTime: redisTime, partitions: partitions, users: counts.users,
            sessions: counts.sessions, conversations: counts.conversations, keys: counts.keys,
            unknownKeys: counts.unknownKeys, sweptAgo: swept,
            leases: leases.map {
                .init(
                    incarnation: $0.incarnation, state: $0.state.rawValue, renewedAgo: $0.renewedAgo,
                    endsIn: $0.endsIn, sessions: $0.sessions)
            },
            findings: findings.map(Document.Finding.init), repaired: repaired.map(Document.Finding.init),
            whole: isWhole)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(document) else {
            preconditionFailure("a report consists of strings and whole numbers")
        }
        return String(decoding: data, as: UTF8.self)
    }

    static func number(_ count: Int, _ one: String, _ many: String) -> String { "\(count) \(count == 1 ? one : many)" }

    /// In seconds, to a tenth.
    static func age(_ time: Milliseconds) -> String { "\(time / 1_000).\(abs(time) % 1_000 / 100) s" }
}

extension DoctorReport.Lease {
    fileprivate var line: String {
        let renewed = renewedAgo.map { "renewed \(DoctorReport.age($0)) ago, " } ?? ""
        let ends = endsIn ?? 0
        let standing =
            switch state {
            case .live: "live, \(renewed)good for \(DoctorReport.age(ends))"
            case .ranOut: "ran out \(DoctorReport.age(-ends)) ago"
            case .reaping:
                "being reaped, \(renewed)"
                    + (ends > 0
                        ? "claimed for \(DoctorReport.age(ends))" : "claimed until \(DoctorReport.age(-ends)) ago")
            case .malformed: "cannot be read"
            }
        return "  \(incarnation)  \(standing), \(DoctorReport.number(sessions, "session", "sessions"))"
    }
}

extension DoctorFinding {
    fileprivate var lines: [String] {
        var lines = ["  \(kind.rawValue) (\(count)): \(kind.explanation)"]
        lines += subjects.filter { $0 != "Redis" }.map { "    \($0)" }
        if subjects.count < count { lines.append("    and \(count - subjects.count) more") }
        lines.append("    " + (kind.repair.map { "--repair \($0)" } ?? "not repaired"))
        return lines
    }
}

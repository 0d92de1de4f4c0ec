import CAssets
import PresenceCore
import PresenceProtocol

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

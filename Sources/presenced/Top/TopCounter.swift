/// Counters that must not grow by more than a number within an alert's seconds.
struct TopCounter: Sendable {
    let alert: String
    /// Without `presence_`; their growth is added up.
    let metrics: [String]
    let seconds: Double
    let text: String
    let most: Double

    init(_ alert: String, _ metrics: String..., seconds: Double, most: Double = 0, _ text: String) {
        (self.alert, self.metrics, self.seconds, self.text, self.most) = (alert, metrics, seconds, text, most)
    }

    /// The same as in `web/console/alerts.js`; a test compares both with the rules.
    static let all = [
        Self(
            "PresenceInternalErrors", #"errors_total{code="internal"}"#, seconds: 900,
            "a request met a fault of the server"),
        Self("PresenceServerFull", #"closes_total{code="1013"}"#, seconds: 600, "clients are turned away"),
        Self("PresenceDamagedRecords", "damaged_records_total", seconds: 3_600, "records in Redis cannot be read"),
        Self("PresenceAnswersLate", "http_answers_late_total", seconds: 600, "calls had no answer in time"),
        Self("PresenceWorkRefused", "workers_refused_total", seconds: 300, "threads have too much work"),
        Self("PresenceMailsFail", "mails_failed_total", seconds: 900, "mails cannot be sent"),
        Self(
            "PresenceWebhooksLost", "webhooks_dropped_total", "webhooks_given_up_total", seconds: 900,
            "events for webhooks were lost"),
        Self(
            "PresencePushesLost", "pushes_dropped_total", "pushes_given_up_total", seconds: 900, "pushes were lost"),
        Self(
            "PresenceOriginsRefused", "origins_refused_total", seconds: 3_600,
            "a page was refused: allowedOrigins does not name it"),
        Self(
            "PresenceNotificationsRefused", "notifications_refused_total", seconds: 900,
            "requests that notify are refused"),
        Self(
            "PresencePhotosKilled", "photos_killed_total", "attachments_killed_total", seconds: 3_600,
            "the decoding of a picture was ended"),
        Self(
            "PresenceTransfersRefused", #"limit_met_total{limit="uploads"}"#, #"limit_met_total{limit="downloads"}"#,
            seconds: 600, "uploads or downloads are refused"),
        Self("PresenceOftenStale", "stale_total", seconds: 3_600, most: 5, "the server often loses Redis"),
        Self("PresenceRefreshReused", "refresh_reuse_total", seconds: 3_600, most: 5, "refresh tokens are used twice"),
    ]
}

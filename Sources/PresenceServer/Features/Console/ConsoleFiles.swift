import CAssets

extension WebFile {
    /// - Parameter bucket: The origin to which the server redirects browsers for pictures in a bucket; `nil` if it serves them
    ///   itself.
    static func console(picturesAt bucket: String?) -> [WebFile] {
        guard let bucket else { return console }
        return console.map { file in
            var file = file
            if !file.content.headers.isEmpty { file.content.headers = page(pictures: "'self' \(bucket)") }
            return file
        }
    }

    /// Files that the app has too have paths of their own here, so that console and app can be switched on separately.
    private static let console: [WebFile] = [
        WebFile("/console", html, asset_console_html(), consolePage),
        WebFile("/console/app.css", css, asset_app_css(), []),
        WebFile("/console/icon.svg", "image/svg+xml", asset_app_icon(), consolePage),
        WebFile("/console/parts.js", script, asset_app_parts_js(), []),
        WebFile("/console/presence.js", script, asset_presence_js(), []),
        WebFile("/console/console.css", css, asset_console_css(), []),
        WebFile("/console/console.js", script, asset_console_js(), []),
        WebFile("/console/api.js", script, asset_console_api_js(), []),
        WebFile("/console/charts.js", script, asset_console_charts_js(), []),
        WebFile("/console/alerts.js", script, asset_console_alerts_js(), []),
        WebFile("/console/runbook.js", script, asset_console_runbook_js(), []),
        WebFile("/console/timeline.js", script, asset_console_timeline_js(), []),
        WebFile("/console/operations.md", "text/markdown; charset=utf-8", asset_operations_md(), []),
        WebFile("/console/verdict.js", script, asset_console_verdict_js(), []),
        WebFile("/console/overview.js", script, asset_console_overview_js(), []),
        WebFile("/console/people.js", script, asset_console_people_js(), []),
        WebFile("/console/person.js", script, asset_console_person_js(), []),
        WebFile("/console/limits.js", script, asset_console_limits_js(), []),
        WebFile("/console/doctor.js", script, asset_console_doctor_js(), []),
        WebFile("/console/outbox.js", script, asset_console_outbox_js(), []),
        WebFile("/console/conversations.js", script, asset_console_conversations_js(), []),
        WebFile("/console/bans.js", script, asset_console_bans_js(), []),
        WebFile("/console/reports.js", script, asset_console_reports_js(), []),
        WebFile("/console/keys.js", script, asset_console_keys_js(), []),
        WebFile("/console/webhooks.js", script, asset_console_webhooks_js(), []),
        WebFile("/console/trace.js", script, asset_console_trace_js(), []),
        WebFile("/console/playground.js", script, asset_console_playground_js(), []),
        // For the phones of the playground.
        WebFile("/console/presence-messages.js", script, asset_presence_messages_js(), []),
        WebFile("/console/presence-log.js", script, asset_presence_log_js(), []),
        WebFile("/console/presence-history.js", script, asset_presence_history_js(), []),
        WebFile("/console/presence-outbox.js", script, asset_presence_outbox_js(), []),
    ]

    /// Only the server's own pictures: a user's `photoURL` may be on any host, and loading it would reveal the operator's
    /// visit.
    private static let consolePage = page(pictures: "'self'")
}

// Files for browsers: the library, the app that is built on it, and the console.
#include "embedding.h"

// Minified, with source maps: web/minify made both.
static const unsigned char presence_js_bytes[] = {
#embed "../../web/minified/presence.js"
};
ASSET(presence_js)

static const unsigned char presence_js_map_bytes[] = {
#embed "../../web/minified/presence.js.map"
};
ASSET(presence_js_map)

static const unsigned char presence_d_ts_bytes[] = {
#embed "../../web/presence.d.ts"
};
ASSET(presence_d_ts)

static const unsigned char presence_messages_js_bytes[] = {
#embed "../../web/minified/presence-messages.js"
};
ASSET(presence_messages_js)

static const unsigned char presence_messages_js_map_bytes[] = {
#embed "../../web/minified/presence-messages.js.map"
};
ASSET(presence_messages_js_map)

static const unsigned char presence_log_js_bytes[] = {
#embed "../../web/minified/presence-log.js"
};
ASSET(presence_log_js)

static const unsigned char presence_log_js_map_bytes[] = {
#embed "../../web/minified/presence-log.js.map"
};
ASSET(presence_log_js_map)

static const unsigned char presence_history_js_bytes[] = {
#embed "../../web/minified/presence-history.js"
};
ASSET(presence_history_js)

static const unsigned char presence_history_js_map_bytes[] = {
#embed "../../web/minified/presence-history.js.map"
};
ASSET(presence_history_js_map)

static const unsigned char presence_outbox_js_bytes[] = {
#embed "../../web/minified/presence-outbox.js"
};
ASSET(presence_outbox_js)

static const unsigned char presence_outbox_js_map_bytes[] = {
#embed "../../web/minified/presence-outbox.js.map"
};
ASSET(presence_outbox_js_map)

static const unsigned char presence_push_js_bytes[] = {
#embed "../../web/minified/presence-push.js"
};
ASSET(presence_push_js)

static const unsigned char presence_push_js_map_bytes[] = {
#embed "../../web/minified/presence-push.js.map"
};
ASSET(presence_push_js_map)

static const unsigned char presence_push_d_ts_bytes[] = {
#embed "../../web/presence-push.d.ts"
};
ASSET(presence_push_d_ts)

static const unsigned char presence_people_js_bytes[] = {
#embed "../../web/minified/presence-people.js"
};
ASSET(presence_people_js)

static const unsigned char presence_people_js_map_bytes[] = {
#embed "../../web/minified/presence-people.js.map"
};
ASSET(presence_people_js_map)

static const unsigned char presence_people_d_ts_bytes[] = {
#embed "../../web/presence-people.d.ts"
};
ASSET(presence_people_d_ts)

static const unsigned char presence_settings_js_bytes[] = {
#embed "../../web/minified/presence-settings.js"
};
ASSET(presence_settings_js)

static const unsigned char presence_settings_js_map_bytes[] = {
#embed "../../web/minified/presence-settings.js.map"
};
ASSET(presence_settings_js_map)

static const unsigned char presence_settings_d_ts_bytes[] = {
#embed "../../web/presence-settings.d.ts"
};
ASSET(presence_settings_d_ts)

static const unsigned char presence_messages_d_ts_bytes[] = {
#embed "../../web/presence-messages.d.ts"
};
ASSET(presence_messages_d_ts)

// ---- The app ----

static const unsigned char app_html_bytes[] = {
#embed "../../web/app/index.html"
};
ASSET(app_html)

static const unsigned char app_css_bytes[] = {
#embed "../../web/app/app.css"
};
ASSET(app_css)

static const unsigned char app_icon_bytes[] = {
#embed "../../web/app/icon.svg"
};
ASSET(app_icon)

static const unsigned char app_js_bytes[] = {
#embed "../../web/app/app.js"
};
ASSET(app_js)

static const unsigned char app_parts_js_bytes[] = {
#embed "../../web/app/parts.js"
};
ASSET(app_parts_js)

static const unsigned char app_signing_js_bytes[] = {
#embed "../../web/app/signing.js"
};
ASSET(app_signing_js)

static const unsigned char app_profile_js_bytes[] = {
#embed "../../web/app/profile.js"
};
ASSET(app_profile_js)

static const unsigned char app_people_js_bytes[] = {
#embed "../../web/app/people.js"
};
ASSET(app_people_js)

static const unsigned char app_account_js_bytes[] = {
#embed "../../web/app/account.js"
};
ASSET(app_account_js)

static const unsigned char app_dialogs_js_bytes[] = {
#embed "../../web/app/dialogs.js"
};
ASSET(app_dialogs_js)

static const unsigned char app_finding_js_bytes[] = {
#embed "../../web/app/finding.js"
};
ASSET(app_finding_js)

static const unsigned char app_notifications_js_bytes[] = {
#embed "../../web/app/notifications.js"
};
ASSET(app_notifications_js)

static const unsigned char app_requests_js_bytes[] = {
#embed "../../web/app/requests.js"
};
ASSET(app_requests_js)

static const unsigned char app_stranger_js_bytes[] = {
#embed "../../web/app/stranger.js"
};
ASSET(app_stranger_js)

static const unsigned char app_page_js_bytes[] = {
#embed "../../web/app/page.js"
};
ASSET(app_page_js)

static const unsigned char app_talk_js_bytes[] = {
#embed "../../web/app/talk.js"
};
ASSET(app_talk_js)

static const unsigned char app_message_js_bytes[] = {
#embed "../../web/app/message.js"
};
ASSET(app_message_js)

static const unsigned char app_details_js_bytes[] = {
#embed "../../web/app/details.js"
};
ASSET(app_details_js)

static const unsigned char app_chats_js_bytes[] = {
#embed "../../web/app/chats.js"
};
ASSET(app_chats_js)

static const unsigned char app_composer_js_bytes[] = {
#embed "../../web/app/composer.js"
};
ASSET(app_composer_js)

static const unsigned char app_files_js_bytes[] = {
#embed "../../web/app/files.js"
};
ASSET(app_files_js)

static const unsigned char app_icons_js_bytes[] = {
#embed "../../web/app/icons.js"
};
ASSET(app_icons_js)

static const unsigned char app_inside_js_bytes[] = {
#embed "../../web/app/inside.js"
};
ASSET(app_inside_js)

static const unsigned char app_known_js_bytes[] = {
#embed "../../web/app/known.js"
};
ASSET(app_known_js)

static const unsigned char app_log_js_bytes[] = {
#embed "../../web/app/log.js"
};
ASSET(app_log_js)

static const unsigned char app_menu_js_bytes[] = {
#embed "../../web/app/menu.js"
};
ASSET(app_menu_js)

static const unsigned char app_person_js_bytes[] = {
#embed "../../web/app/person.js"
};
ASSET(app_person_js)

static const unsigned char app_qr_js_bytes[] = {
#embed "../../web/app/qr.js"
};
ASSET(app_qr_js)

static const unsigned char app_settings_js_bytes[] = {
#embed "../../web/app/settings.js"
};
ASSET(app_settings_js)

static const unsigned char app_worker_js_bytes[] = {
#embed "../../web/app/worker.js"
};
ASSET(app_worker_js)

static const unsigned char app_inside_css_bytes[] = {
#embed "../../web/app/inside.css"
};
ASSET(app_inside_css)

static const unsigned char app_manifest_bytes[] = {
#embed "../../web/app/manifest.webmanifest"
};
ASSET(app_manifest)

static const unsigned char app_picture_bytes[] = {
#embed "../../web/app/icon.png"
};
ASSET(app_picture)

// ---- The console ----

static const unsigned char console_html_bytes[] = {
#embed "../../web/console/index.html"
};
ASSET(console_html)

static const unsigned char console_css_bytes[] = {
#embed "../../web/console/console.css"
};
ASSET(console_css)

static const unsigned char console_js_bytes[] = {
#embed "../../web/console/console.js"
};
ASSET(console_js)

static const unsigned char console_api_js_bytes[] = {
#embed "../../web/console/api.js"
};
ASSET(console_api_js)

static const unsigned char console_charts_js_bytes[] = {
#embed "../../web/console/charts.js"
};
ASSET(console_charts_js)

static const unsigned char console_alerts_js_bytes[] = {
#embed "../../web/console/alerts.js"
};
ASSET(console_alerts_js)

static const unsigned char console_runbook_js_bytes[] = {
#embed "../../web/console/runbook.js"
};
ASSET(console_runbook_js)

static const unsigned char console_timeline_js_bytes[] = {
#embed "../../web/console/timeline.js"
};
ASSET(console_timeline_js)

// The pages show the paragraphs of alerts.
static const unsigned char operations_md_bytes[] = {
#embed "../../docs/operations.md"
};
ASSET(operations_md)

static const unsigned char console_verdict_js_bytes[] = {
#embed "../../web/console/verdict.js"
};
ASSET(console_verdict_js)

static const unsigned char console_overview_js_bytes[] = {
#embed "../../web/console/overview.js"
};
ASSET(console_overview_js)

static const unsigned char console_people_js_bytes[] = {
#embed "../../web/console/people.js"
};
ASSET(console_people_js)

static const unsigned char console_person_js_bytes[] = {
#embed "../../web/console/person.js"
};
ASSET(console_person_js)

static const unsigned char console_limits_js_bytes[] = {
#embed "../../web/console/limits.js"
};
ASSET(console_limits_js)

static const unsigned char console_doctor_js_bytes[] = {
#embed "../../web/console/doctor.js"
};
ASSET(console_doctor_js)

static const unsigned char console_outbox_js_bytes[] = {
#embed "../../web/console/outbox.js"
};
ASSET(console_outbox_js)

static const unsigned char console_conversations_js_bytes[] = {
#embed "../../web/console/conversations.js"
};
ASSET(console_conversations_js)

static const unsigned char console_keys_js_bytes[] = {
#embed "../../web/console/keys.js"
};
ASSET(console_keys_js)

static const unsigned char console_bans_js_bytes[] = {
#embed "../../web/console/bans.js"
};
ASSET(console_bans_js)

static const unsigned char console_reports_js_bytes[] = {
#embed "../../web/console/reports.js"
};
ASSET(console_reports_js)

static const unsigned char console_webhooks_js_bytes[] = {
#embed "../../web/console/webhooks.js"
};
ASSET(console_webhooks_js)

static const unsigned char console_trace_js_bytes[] = {
#embed "../../web/console/trace.js"
};
ASSET(console_trace_js)

static const unsigned char console_playground_js_bytes[] = {
#embed "../../web/console/playground.js"
};
ASSET(console_playground_js)

import CAssets
import PresenceCore
import Signing

/// A file of `web/` that is embedded in the program.
struct WebFile: Sendable {
    let path: String
    var content: HTTPContent
    let bytes: PackedBytes

    // Copies of it for all files would take seconds to compile.
    @inline(never)
    init(_ path: String, _ type: String, _ asset: asset, _ headers: [(name: String, value: String)]) {
        self.path = path
        let plain = Array(UnsafeBufferPointer(start: asset.bytes, count: asset.count))
        bytes = PackedBytes(plain)
        // Browsers revalidate it each time, mostly with 304, so pages of a new server never run with scripts of an old one.
        var content = HTTPContent(type: type, cacheControl: "no-cache", tag: Self.tag(of: plain))
        content.headers = headers
        self.content = content
    }

    /// A hash, so that all processes and all servers behind one address have the same tag.
    private static func tag(of bytes: [UInt8]) -> String {
        String(SHA1.hash(bytes).prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }, radix: 36)
    }
}

extension WebFile {
    static let script = "text/javascript; charset=utf-8"
    static let css = "text/css; charset=utf-8"
    static let html = "text/html; charset=utf-8"

    /// Pages of any site may import these files.
    static let library: [WebFile] = {
        let open = [("Access-Control-Allow-Origin", "*"), ("Cross-Origin-Resource-Policy", "cross-origin")]
        let types = "text/plain; charset=utf-8"
        let map = "application/json"
        func typed(by file: String) -> [(String, String)] { open + [("X-TypeScript-Types", file)] }
        return [
            WebFile("/presence.js", script, asset_presence_js(), typed(by: "/presence.d.ts")),
            WebFile("/presence.d.ts", types, asset_presence_d_ts(), open),
            WebFile(
                "/presence-messages.js", script, asset_presence_messages_js(), typed(by: "/presence-messages.d.ts")),
            WebFile("/presence-messages.d.ts", types, asset_presence_messages_d_ts(), open),
            WebFile("/presence-log.js", script, asset_presence_log_js(), open),
            WebFile("/presence-history.js", script, asset_presence_history_js(), open),
            WebFile("/presence-outbox.js", script, asset_presence_outbox_js(), open),
            WebFile("/presence-push.js", script, asset_presence_push_js(), typed(by: "/presence-push.d.ts")),
            WebFile("/presence-push.d.ts", types, asset_presence_push_d_ts(), open),
            WebFile("/presence-people.js", script, asset_presence_people_js(), typed(by: "/presence-people.d.ts")),
            WebFile("/presence-people.d.ts", types, asset_presence_people_d_ts(), open),
            WebFile(
                "/presence-settings.js", script, asset_presence_settings_js(), typed(by: "/presence-settings.d.ts")),
            WebFile("/presence-settings.d.ts", types, asset_presence_settings_d_ts(), open),
            WebFile("/presence.js.map", map, asset_presence_js_map(), open),
            WebFile("/presence-messages.js.map", map, asset_presence_messages_js_map(), open),
            WebFile("/presence-log.js.map", map, asset_presence_log_js_map(), open),
            WebFile("/presence-history.js.map", map, asset_presence_history_js_map(), open),
            WebFile("/presence-outbox.js.map", map, asset_presence_outbox_js_map(), open),
            WebFile("/presence-push.js.map", map, asset_presence_push_js_map(), open),
            WebFile("/presence-people.js.map", map, asset_presence_people_js_map(), open),
            WebFile("/presence-settings.js.map", map, asset_presence_settings_js_map(), open),
        ]
    }()

    static let app: [WebFile] = {
        let files = [
            WebFile("/app/app.css", css, asset_app_css(), []),
            WebFile("/app/inside.css", css, asset_app_inside_css(), []),
            WebFile("/app/icon.svg", "image/svg+xml", asset_app_icon(), appPage),
            WebFile("/app/icon.png", "image/png", asset_app_picture(), []),
            WebFile("/app/manifest.webmanifest", "application/manifest+json", asset_app_manifest(), []),
            // The worker's scope is a page outside its folder.
            WebFile("/app/worker.js", script, asset_app_worker_js(), [("Service-Worker-Allowed", "/app")]),
            WebFile("/app/account.js", script, asset_app_account_js(), []),
            WebFile("/app/app.js", script, asset_app_js(), []),
            WebFile("/app/chats.js", script, asset_app_chats_js(), []),
            WebFile("/app/composer.js", script, asset_app_composer_js(), []),
            WebFile("/app/details.js", script, asset_app_details_js(), []),
            WebFile("/app/dialogs.js", script, asset_app_dialogs_js(), []),
            WebFile("/app/files.js", script, asset_app_files_js(), []),
            WebFile("/app/finding.js", script, asset_app_finding_js(), []),
            WebFile("/app/icons.js", script, asset_app_icons_js(), []),
            WebFile("/app/inside.js", script, asset_app_inside_js(), []),
            WebFile("/app/known.js", script, asset_app_known_js(), []),
            WebFile("/app/log.js", script, asset_app_log_js(), []),
            WebFile("/app/menu.js", script, asset_app_menu_js(), []),
            WebFile("/app/message.js", script, asset_app_message_js(), []),
            WebFile("/app/notifications.js", script, asset_app_notifications_js(), []),
            WebFile("/app/page.js", script, asset_app_page_js(), []),
            WebFile("/app/parts.js", script, asset_app_parts_js(), []),
            WebFile("/app/people.js", script, asset_app_people_js(), []),
            WebFile("/app/person.js", script, asset_app_person_js(), []),
            WebFile("/app/profile.js", script, asset_app_profile_js(), []),
            WebFile("/app/qr.js", script, asset_app_qr_js(), []),
            WebFile("/app/requests.js", script, asset_app_requests_js(), []),
            WebFile("/app/settings.js", script, asset_app_settings_js(), []),
            WebFile("/app/signing.js", script, asset_app_signing_js(), []),
            WebFile("/app/stranger.js", script, asset_app_stranger_js(), []),
            WebFile("/app/talk.js", script, asset_app_talk_js(), []),
        ]
        // The page's tag covers all files, so the browser's worker detects a new version by it.
        let version = tag(of: (library + files).flatMap { Array(($0.content.tag ?? "").utf8) })
        // Users try `/` first; links in mails lead to `/verify`, `/reset` and `/signin`.
        let pages = ["/", "/app", "/verify", "/reset", "/signin"].map { path in
            var page = WebFile(path, html, asset_app_html(), appPage)
            page.content.tag? += "-" + version
            return page
        }
        return pages + files
    }()

    /// `blob:` is needed for a picture that the user has just chosen.
    private static let appPage = page(pictures: "'self' https: blob:")

    /// Headers that keep foreign scripts and frames out of a page: no inline code, and nothing from other hosts except
    /// pictures, because a user's `photoURL` may be on any host.
    static func page(pictures: String) -> [(String, String)] {
        [
            (
                "Content-Security-Policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src \(pictures); connect-src 'self'; "
                    + "manifest-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"
            ),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
        ]
    }
}

import PresenceCore
import WebSockets

/// Serves browsers `/presence.js`, the library for pages, and the app built on it.
///
/// The library is always served, because it can do nothing that the protocol does not allow anyway. The app lets people sign up
/// and sign in, so operators switch it on.
final class App: Feature {
    static let plan = FeaturePlan(
        name: "app", settings: [enabled],
        warnings: {
            guard $0[enabled], !$0[Accounts.enabled] else { return [] }
            return ["app.enabled is on and accounts.enabled is off: users cannot sign in to the app"]
        })

    private unowned let shard: ShardLogic

    init(_ shard: ShardLogic) { self.shard = shard }

    func register(in registry: inout Registry) {
        let files = WebFile.library + (shard.configuration[Self.enabled] ? WebFile.app : [])
        for file in files {
            for method in ["GET", "HEAD"] {
                registry.route(method, file.path, for: .everyone) { call in
                    call.serve(file.bytes, as: file.content)
                }
            }
        }
        if shard.configuration[Self.enabled] { registry.leadFromSlash(to: "/app", for: .everyone) }
    }
}

extension Registry {
    /// Redirects from a page's path with a slash at its end, as some people type it. Browsers keep what follows a `#`.
    mutating func leadFromSlash(to page: String, for audience: Route.Audience) {
        for method in ["GET", "HEAD"] {
            route(method, page + "/", for: audience) { call in
                call.respond(HTTPResponse(status: 302, headers: [("Location", page)]))
            }
        }
    }
}

extension App {
    static let enabled = Setting<Bool>(
        "app.enabled", false,
        about: "Whether the server has pages at /app on which users sign up, sign in and see each other, and /verify, "
            + "/reset and /signin for links in mails.")
}

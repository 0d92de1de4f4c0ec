/// The variables that Kubernetes sets in each container for each Service in its namespace (`enableServiceLinks`). If the name
/// of a Service begins with `presence`, its variables have our prefix.
enum ServiceLinks {
    /// Whether Kubernetes has set a variable. `PRESENCE_PORT` is also a setting, so its value decides.
    static func contain(_ name: String, _ value: String) -> Bool {
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        if words.last == "PORT", protocols.contains(where: { value.hasPrefix($0.lowercased() + "://") }) { return true }
        if let service = words.lastIndex(of: "SERVICE"), service > 0, service + 1 < words.count {
            return words[service + 1] == "PORT" || words[(service + 1)...] == ["HOST"]
        }
        guard let port = words.lastIndex(where: { Int($0) != nil }), port > 1, words[port - 1] == "PORT" else {
            return false
        }
        let rest = words[(port + 1)...].map(String.init)
        return protocols.contains(rest.first ?? "") && (rest.count == 1 || rest.count == 2 && parts.contains(rest[1]))
    }

    private static let protocols = ["TCP", "UDP", "SCTP"]
    private static let parts = ["PROTO", "PORT", "ADDR"]
}

import Foundation
import Installation
import PresenceCore
import PresenceServer

/// The sources of a server's configuration: flags before environment before file before the built-in defaults.
struct ConfigurationSources {
    /// The settings of the command line, by key.
    var flags: [String: String] = [:]
    /// The process's environment.
    var environment: [String: String] = [:]
    /// Variables that Kubernetes sets for a Service, which are not settings.
    private var serviceLinks: [String] {
        environment.filter { $0.key.hasPrefix("PRESENCE_") && ServiceLinks.contain($0.key, $0.value) }.keys.sorted()
    }
    /// The path of the file, if there is one.
    var file: String?

    /// The flags that set a key.
    static let flagNames = [
        "host": "--host", "port": "--port", "sharePort": "--share-port", "shards": "--shards", "redis.url": "--redis",
        "dataDirectory": "--data-dir", "logLevel": "--log-level",
    ]

    /// Variables with our prefix that belong to the project's tools and scripts.
    private static let foreignVariables: Set<String> = ["PRESENCE_BIN", "PRESENCE_TOKEN", "PRESENCE_URL"]

    /// Reads and checks all sources.
    ///
    /// - Throws: ``InvalidConfiguration`` naming the key, and the source of its value.
    func read() throws(InvalidConfiguration) -> ServerConfiguration {
        try checkEnvironment()
        let contents = try file.map { path throws(InvalidConfiguration) in try ConfigurationFile(path) }
        var configuration = ServerConfiguration()
        for setting in ServerConfiguration.settings {
            guard let (texts, source) = texts(of: setting, contents) else { continue }
            do throws(SettingMistake) {
                try setting.read(texts, into: &configuration)
            } catch {
                let text = texts.joined(separator: ",")
                throw InvalidConfiguration(
                    key: setting.key, reason: "is \"\(text)\", but must be \(error.expected) (\(source))")
            }
        }
        do throws(InvalidConfiguration) {
            try configuration.validate()
        } catch {
            guard let setting = ServerConfiguration.settings.first(where: { $0.key == error.key }),
                let (_, source) = texts(of: setting, contents)
            else { throw error }
            throw InvalidConfiguration(key: error.key, reason: "\(error.reason) (\(source))")
        }
        return configuration
    }

    /// All warnings for the operator, at the start of a server and from the doctor.
    func warnings(of configuration: ServerConfiguration) -> [StartWarning] {
        let links = serviceLinks
        let text =
            "variables of a Kubernetes Service are passed over (enableServiceLinks: false keeps them away): "
            + links.joined(separator: ", ")
        return configuration.startWarnings(file: file) + (links.isEmpty ? [] : [StartWarning(text: text)])
    }

    private func checkEnvironment() throws(InvalidConfiguration) {
        let known = Self.foreignVariables.union(ServerConfiguration.settings.map(\.variable)).union(serviceLinks)
        for name in environment.keys.sorted() where name.uppercased().hasPrefix("PRESENCE_") && !known.contains(name) {
            throw InvalidConfiguration(key: name, reason: "unknown environment variable")
        }
    }

    /// The values of a setting, and their source for error messages; `nil` for the default.
    private func texts(of setting: any AnySetting, _ contents: ConfigurationFile?) -> (texts: [String], source: String)?
    {
        if let text = flags[setting.key] { return ([text], Self.flagNames[setting.key] ?? "on the command line") }
        if let text = environment[setting.variable], !ServiceLinks.contain(setting.variable, text) {
            return (setting.isList ? Self.list(text) : [text], "environment variable \(setting.variable)")
        }
        if let file, let texts = contents?.values[setting.key] { return (texts, file) }
        return nil
    }

    /// Parses a list in a variable: values separated by commas, with optional spaces.
    private static func list(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
}

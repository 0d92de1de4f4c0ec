import Configuration
import Installation
import PresenceCore
import PresenceServer

/// Where a server's configuration comes from: flags before environment before file before the built-in defaults.
struct ConfigurationSources {
    /// What the command line said, by key.
    var flags: [String: String] = [:]
    /// The process's environment.
    var environment: [String: String] = [:]
    /// Variables of a Kubernetes Service, which stand for none of ours.
    private var serviceLinks: [String] {
        environment.filter { $0.key.hasPrefix("PRESENCE_") && ServiceLinks.contain($0.key, $0.value) }.keys.sorted()
    }
    /// The path of the file, if one was named.
    var file: String?

    /// The flags that set a key.
    static let flagNames = [
        "host": "--host", "port": "--port", "sharePort": "--share-port", "shards": "--shards", "redis.url": "--redis",
        "dataDirectory": "--data-dir", "logLevel": "--log-level",
    ]

    /// Variables that start as ours do and belong to the project's tools and scripts.
    private static let foreignVariables: Set<String> = ["PRESENCE_BIN", "PRESENCE_TOKEN", "PRESENCE_URL"]

    /// Reads and checks it all.
    ///
    /// - Throws: ``InvalidConfiguration`` naming the key, and the source of its value.
    func read() async throws -> ServerConfiguration {
        try checkEnvironment()
        let contents = try file.map { path throws(InvalidConfiguration) in try ConfigurationFile(path) }
        let keysInFile = contents?.keys ?? []
        let reader = ConfigReader(providers: providers(contents))

        var configuration = ServerConfiguration()
        for setting in Setting.all {
            let key = ConfigKey(setting.key.split(separator: ".").map(String.init))
            func invalid(_ reason: String) -> InvalidConfiguration {
                InvalidConfiguration(key: setting.key, reason: reason + source(of: setting, keysInFile))
            }
            // Only the readers that throw tell of a bad value; a missing one cannot be, since the last provider has all.
            let texts: [String]
            do {
                texts =
                    setting.isList
                    ? try reader.requiredStringArray(forKey: key) : [try reader.requiredString(forKey: key)]
            } catch {
                throw invalid("cannot be read: \(error)")
            }
            do throws(Setting.Mistake) {
                try setting.read(texts, into: &configuration)
            } catch {
                throw invalid("is \"\(texts.joined(separator: ","))\", but must be \(error.expected)")
            }
        }
        do throws(InvalidConfiguration) {
            try configuration.validate()
        } catch {
            guard let setting = Setting.all.first(where: { $0.key == error.key }) else { throw error }
            throw InvalidConfiguration(key: error.key, reason: error.reason + source(of: setting, keysInFile))
        }
        return configuration
    }

    /// Everything that an operator is warned of before a server starts, and by the doctor.
    func warnings(of configuration: ServerConfiguration) -> [StartWarning] {
        let links = serviceLinks
        let text =
            "variables of a Kubernetes Service are passed over (enableServiceLinks: false keeps them away): "
            + links.joined(separator: ", ")
        return configuration.startWarnings(file: file) + (links.isEmpty ? [] : [StartWarning(text: text)])
    }

    private func checkEnvironment() throws(InvalidConfiguration) {
        let known = Self.foreignVariables.union(Setting.all.map(\.variable)).union(serviceLinks)
        for name in environment.keys.sorted() where name.uppercased().hasPrefix("PRESENCE_") && !known.contains(name) {
            throw InvalidConfiguration(key: name, reason: "unknown environment variable")
        }
    }

    private func providers(_ contents: ConfigurationFile?) -> [any ConfigProvider] {
        var providers: [any ConfigProvider] = [
            InMemoryProvider(name: "flags", values: values(flags.mapValues { [$0] })),
            // Variables of other programs are kept away from it: it would take `port` for ours.
            EnvironmentVariablesProvider(
                environmentVariables: environment.filter {
                    $0.key.hasPrefix("PRESENCE_") && !ServiceLinks.contain($0.key, $0.value)
                }
            )
            .prefixKeys(with: "presence"),
        ]
        // Not the package's own reader of YAML, which knows no list of mappings.
        if let contents { providers.append(InMemoryProvider(name: "file", values: values(contents.values))) }
        let defaults = ServerConfiguration()
        let texts = Setting.all.map { ($0.key, $0.write(defaults)) }
        providers.append(InMemoryProvider(name: "defaults", values: values(Dictionary(uniqueKeysWithValues: texts))))
        return providers
    }

    private func values(_ texts: [String: [String]]) -> [AbsoluteConfigKey: ConfigValue] {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for setting in Setting.all {
            guard let texts = texts[setting.key] else { continue }
            let key = AbsoluteConfigKey(setting.key.split(separator: ".").map(String.init))
            values[key] = ConfigValue(setting.isList ? .stringArray(texts) : .string(texts[0]), isSecret: false)
        }
        return values
    }

    /// For a message: where the value came from.
    private func source(of setting: Setting, _ keysInFile: Set<String>) -> String {
        if flags[setting.key] != nil { return " (\(Self.flagNames[setting.key] ?? "on the command line"))" }
        if environment[setting.variable] != nil { return " (environment variable \(setting.variable))" }
        if let file, keysInFile.contains(setting.key) { return " (\(file))" }
        return ""
    }
}

import Expectations
import PresenceCore
import PresenceServer
import Testing

@testable import presenced

/// Kubernetes' variables in a container's environment, beside our own settings with the same prefix.
@Suite struct ServiceLinksTests {
    private static func links(of service: String) -> [String: String] {
        [
            "\(service)_SERVICE_HOST": "10.0.0.7", "\(service)_SERVICE_PORT": "4040",
            "\(service)_SERVICE_PORT_WEB": "4040",
            "\(service)_SERVICE_PORT_METRICS_2": "9090", "\(service)_PORT": "tcp://10.0.0.7:4040",
            "\(service)_PORT_4040_TCP": "tcp://10.0.0.7:4040", "\(service)_PORT_4040_TCP_PROTO": "tcp",
            "\(service)_PORT_4040_TCP_PORT": "4040", "\(service)_PORT_4040_TCP_ADDR": "10.0.0.7",
            "\(service)_PORT_53_UDP": "udp://10.0.0.7:53", "\(service)_PORT_53_UDP_PORT": "53",
        ]
    }

    @Test(arguments: ["PRESENCE", "PRESENCE_REDIS", "PRESENCE_API", "PRESENCE_2", "PRESENCE_SERVICE"])
    func `variables of a Service beside the server are ignored, with a warning`(service: String) throws {
        let links = Self.links(of: service)
        let sources = ConfigurationSources(environment: links.merging(["PRESENCE_LINGER": "7s"]) { $1 })
        let configuration = try sources.read()
        expect(configuration.linger == 7_000 && configuration.port == 4040 && configuration.api.port == nil)
        let warnings = sources.warnings(of: configuration).map(\.text).filter { $0.contains("Kubernetes") }
        expect(warnings.count, equals: 1)
        for name in links.keys { expect(warnings.first?.contains(name), equals: true, "\(name)") }
    }

    @Test func `a setting and a misspelt one are not among them`() throws {
        for setting in ServerConfiguration.settings {
            expect(!ServiceLinks.contain(setting.variable, "4040"), "\(setting.variable)")
        }
        try expect(ConfigurationSources(environment: ["PRESENCE_PORT": "7000"]).read().port, equals: 7_000)
        for name in [
            "PRESENCE_PROT", "PRESENCE_PORTS", "PRESENCE_PORT_4040", "PRESENCE_SERVICE", "PRESENCE_PORT_X_TCP",
        ] {
            #expect(throws: (any Error).self, "\(name)") {
                try ConfigurationSources(environment: [name: "1"]).read()
            }
        }
    }
}

// swift-tools-version: 6.1
import PackageDescription

/// The client's products alone, for toolchains that cannot read Package.swift (6.2). They are the same targets as there.
let apple: [Platform] = [.macOS, .iOS, .tvOS, .watchOS, .visionOS]

let package = Package(
    name: "presence",
    platforms: [.macOS(.v14), .iOS(.v17), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: [
        .library(name: "PresenceKit", targets: ["PresenceKit"]),
        .library(name: "PresenceDomain", targets: ["PresenceDomain"]),
        .library(name: "PresenceModels", targets: ["PresenceModels"]),
        .library(name: "PresenceKitTesting", targets: ["PresenceKitTesting"]),
        // For apps whose users write to each other.
        .library(name: "PresenceMessages", targets: ["PresenceMessages"]),
        .library(name: "PresenceMessageModels", targets: ["PresenceMessageModels"]),
        .library(name: "PresenceMessagesTesting", targets: ["PresenceMessagesTesting"]),
        // For apps whose users sign in at the same server.
        .library(name: "PresenceAccounts", targets: ["PresenceAccounts"]),
        .library(name: "PresenceAccountModels", targets: ["PresenceAccountModels"]),
        .library(name: "PresenceAccountsTesting", targets: ["PresenceAccountsTesting"]),
        // For apps that replace the HTTP transport of these.
        .library(name: "PresenceHTTP", targets: ["PresenceHTTP"]),
    ],
    traits: [
        .trait(name: "Server", description: "Needs a later toolchain."), .default(enabledTraits: []),
    ],
    targets: [
        .target(name: "CLibEV", linkerSettings: [.linkedLibrary("ev")]),
        .target(
            name: "CLibWebSockets",
            linkerSettings: [.linkedLibrary("websockets"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "EventLoops", dependencies: ["CLibEV"]),
        .target(name: "WebSockets", dependencies: ["CLibWebSockets", "CLibEV", "EventLoops"]),
        .target(name: "PresenceProtocol"),
        .target(name: "PresenceTransport"),
        .target(name: "PresenceURLSession", dependencies: ["PresenceTransport"]),
        .target(
            name: "PresenceKit",
            dependencies: [
                "PresenceProtocol", "PresenceTransport",
                .target(name: "PresenceURLSession", condition: .when(platforms: apple)),
                .target(name: "EventLoops", condition: .when(platforms: [.linux])),
                .target(name: "WebSockets", condition: .when(platforms: [.linux])),
            ]),
        .target(name: "PresenceDomain"),
        .target(name: "PresenceModels", dependencies: ["PresenceDomain", "PresenceKit"]),
        .target(name: "PresenceKitTesting", dependencies: ["PresenceDomain", "PresenceKit"]),

        // Requests over HTTP: accounts and uploads.
        .target(name: "PresenceHTTP"),
        // Messages: conversations, their messages, the outbox.
        .target(name: "PresenceMessages", dependencies: ["PresenceHTTP", "PresenceKit"]),
        .target(name: "PresenceMessageModels", dependencies: ["PresenceKit", "PresenceMessages", "PresenceModels"]),
        .target(name: "PresenceMessagesTesting", dependencies: ["PresenceKit", "PresenceKitTesting", "PresenceMessages"]),
        // Accounts: sign-up, sign-in, the own account; with the same additions.
        .target(name: "PresenceAccounts", dependencies: ["PresenceDomain", "PresenceHTTP", "PresenceKit"]),
        .target(name: "PresenceAccountModels", dependencies: ["PresenceAccounts", "PresenceDomain", "PresenceKit", "PresenceModels"]),
        .target(name: "PresenceAccountsTesting", dependencies: ["PresenceAccounts", "PresenceDomain", "PresenceHTTP", "PresenceKit", "PresenceKitTesting"]),
    ],
    swiftLanguageModes: [.v6]
)

/// Folders with a page of their own, which is not a source.
let described = ["PresenceAccounts", "PresenceKit", "PresenceMessages", "WebSockets"]
for target in package.targets where described.contains(target.name) {
    target.exclude.append("README.md")
}

#if !os(Linux)
    // Elsewhere there are no such C libraries, and `swift build` asks for each target.
    let linux = ["CLibEV", "CLibWebSockets", "EventLoops", "WebSockets"]
    package.targets.removeAll { linux.contains($0.name) }
    for target in package.targets {
        target.dependencies.removeAll {
            if case .targetItem(let name, _) = $0 { linux.contains(name) } else { false }
        }
    }
#endif

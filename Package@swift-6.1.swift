// swift-tools-version: 6.1
import PackageDescription

/// The client's products alone, for toolchains that cannot read Package.swift (6.2). They are the same targets as there.
let package = Package(
    name: "presence",
    platforms: [.macOS(.v14), .iOS(.v17), .tvOS(.v17), .visionOS(.v1)],
    products: [
        .library(name: "PresenceKit", targets: ["PresenceKit"]),
        .library(name: "PresenceAccounts", targets: ["PresenceAccounts"]),
        .library(name: "PresenceMessages", targets: ["PresenceMessages"]),
        .library(name: "PresenceTesting", targets: ["PresenceTesting"]),
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
        .target(
            name: "PresenceKit",
            dependencies: [
                "PresenceProtocol",
                .target(name: "EventLoops", condition: .when(platforms: [.linux])),
                .target(name: "WebSockets", condition: .when(platforms: [.linux])),
            ]),
        .target(name: "PresenceAccounts", dependencies: ["PresenceKit"]),
        .target(name: "PresenceMessages", dependencies: ["PresenceAccounts", "PresenceKit"]),
        .target(
            name: "PresenceTesting",
            dependencies: ["PresenceAccounts", "PresenceKit", "PresenceMessages", "PresenceProtocol"]),
    ],
    swiftLanguageModes: [.v6]
)

/// Folders with a page of their own, which is not a source.
let described = ["PresenceAccounts", "PresenceKit", "PresenceMessages", "WebSockets"]
for target in package.targets where described.contains(target.name) {
    target.exclude.append("README.md")
}

/// For Apple's App Store: the session store uses UserDefaults.
let privacy = "PrivacyInfo.xcprivacy"
let accounts = package.targets.first { $0.name == "PresenceAccounts" }!
accounts.exclude.append(privacy)

#if !os(Linux)
    // Elsewhere there are no such C libraries, and `swift build` asks for each target.
    let linux = ["CLibEV", "CLibWebSockets", "EventLoops", "WebSockets"]
    accounts.exclude.removeAll { $0 == privacy }
    accounts.resources = [.copy(privacy)]
    package.targets.removeAll { linux.contains($0.name) }
    for target in package.targets {
        target.dependencies.removeAll {
            if case .targetItem(let name, _) = $0 { linux.contains(name) } else { false }
        }
    }
#endif

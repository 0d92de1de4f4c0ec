// swift-tools-version: 6.1
import PackageDescription

/// An app that shows who is online, written with the client's products alone, as an app team would.
let package = Package(
    name: "Roster",
    platforms: [.macOS(.v14), .iOS(.v17)],
    dependencies: [
        // Your own app refers to the repository: .package(url: "https://…/presence", branch: "main", traits: []).
        // Without the default trait `Server`, none of the server's packages is fetched.
        .package(name: "presence", path: "../..", traits: [])
    ],
    targets: [
        .target(
            name: "RosterScreens",
            dependencies: [.product(name: "PresenceKit", package: "presence")]),
        .executableTarget(name: "Roster", dependencies: ["RosterScreens"]),
        .testTarget(
            name: "RosterScreensTests",
            dependencies: ["RosterScreens", .product(name: "PresenceTesting", package: "presence")]),
    ],
    swiftLanguageModes: [.v6]
)

// swift-tools-version: 6.2
import PackageDescription

/// Whether this is the debug build of `make test`. Packages are built with full optimisation, our own targets so: the
/// server's core optimised, and modules as a whole, which takes two thirds of the processor time of compiling file by
/// file. (With "unsafe" flags, other packages cannot depend on the targets.)
let isForTests = Context.environment["BUILD_OPTIMISED"] == "1"
let optimised: [SwiftSetting] = isForTests ? [.unsafeFlags(["-O"])] : []
let whole: [SwiftSetting] =
    isForTests
    ? [.unsafeFlags(["-whole-module-optimization", "-num-threads", "2", "-no-emit-module-separately-wmo"])] : []

/// Whether warnings are errors: in our own builds, which the Makefile starts, and not in those of an app that has this
/// package at a path. A later compiler may warn about more.
let isOurBuild = isForTests || Context.environment["WARNINGS_AS_ERRORS"] == "1"

/// The settings of all our Swift targets.
let strict: [SwiftSetting] = [.swiftLanguageMode(.v6)] + (isOurBuild ? [.treatAllWarnings(as: .error)] : []) + whole
let ours: [SwiftSetting] = strict + optimised

/// Tests are not optimised: that would double their compile time and speed up little. The simulator plays the thousands
/// of histories, and it is optimised. The client library, small programs and modules that histories hardly use are not
/// optimised either.
let tests = strict

/// Async functions of code that runs on a shard stay on the shard's executor.
let onShards: [SwiftSetting] = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

/// The server's own targets, without the run-time checks that accesses to a property do not overlap: a quarter of the
/// instructions of a delivery. Debug builds, in which all tests run, have them. No product for apps has these targets.
let unchecked: [SwiftSetting] =
    ours + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]

/// Tests gain almost nothing if these are optimised: in the suite `server` all of the product's code takes 7 % of the
/// processor time.
let uncheckedIfReleased: [SwiftSetting] = isForTests ? strict : unchecked

/// The features take longest to compile with the optimizer.
let features: [SwiftSetting] = uncheckedIfReleased + onShards

/// Needed only by `make docs`: a plugin is built whenever its package is present.
let documentation: [Package.Dependency] =
    Context.environment["DOCUMENTATION"] == "1"
    ? [.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")] : []

/// The packages that the server and the tools need. An app that uses only the client's products disables the trait
/// (`traits: []` in its dependency), and none of them is fetched.
let server = TargetDependencyCondition.when(traits: ["Server"])

let package = Package(
    name: "presence",
    // The client's minimum (Observation, in its models). The server is built on Linux only.
    platforms: [.macOS(.v14), .iOS(.v17), .tvOS(.v17), .visionOS(.v1)],
    products: [
        // For apps. PresenceKit is presence; each of the next two contains the ones before it.
        .library(name: "PresenceKit", targets: ["PresenceKit"]),
        // For apps whose users sign in at the same server.
        .library(name: "PresenceAccounts", targets: ["PresenceAccounts"]),
        // For apps whose users write to each other.
        .library(name: "PresenceMessages", targets: ["PresenceMessages"]),
        // For the tests of these apps.
        .library(name: "PresenceTesting", targets: ["PresenceTesting"]),
        .executable(name: "presenced", targets: ["presenced"]),
        .executable(name: "presence-watch", targets: ["presence-watch"]),
        .executable(name: "presence-chat", targets: ["presence-chat"]),
        .executable(name: "presence-load", targets: ["presence-load"]),
    ],
    traits: [
        .trait(name: "Server", description: "The server and the tools, with the packages that they need."),
        .default(enabledTraits: ["Server"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ] + documentation,
    targets: [
        // C libraries: a module map and a shim each, nothing else.
        .target(name: "CLibEV", linkerSettings: [.linkedLibrary("ev")]),
        .target(
            name: "CLibWebSockets",
            linkerSettings: [.linkedLibrary("websockets"), .linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CTLS", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .target(name: "CSigning", linkerSettings: [.linkedLibrary("crypto")]),
        .target(name: "CZlib", linkerSettings: [.linkedLibrary("z")]),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CSodium", linkerSettings: [.linkedLibrary("sodium")]),
        // The picture decoder, optimised in all builds: even so, some pictures take a second.
        .target(
            name: "CPhotos", cSettings: optimised.isEmpty ? [] : [.unsafeFlags(["-O2"])],
            linkerSettings: [.linkedLibrary("jpeg"), .linkedLibrary("png")]),
        .target(name: "CHiredis", dependencies: ["CLibEV"], linkerSettings: [.linkedLibrary("hiredis")]),

        // Files that are embedded in programs, in place: scripts stay in their features' folders.
        .target(name: "CAssets"),

        // The data path: loop, sockets, Redis.
        .target(name: "EventLoops", dependencies: ["CLibEV"], swiftSettings: ours),
        .target(name: "WebSockets", dependencies: ["CLibWebSockets", "CLibEV", "EventLoops"], swiftSettings: strict),
        .target(
            name: "Redis", dependencies: ["CHiredis", "CLibEV", "CTLS", "EventLoops", "Signing"],
            swiftSettings: unchecked),
        // Work that takes too long for a loop: jobs, and calls to other servers.
        .target(
            name: "NumberedQueues",
            dependencies: [.product(name: "DequeModule", package: "swift-collections", condition: server)],
            swiftSettings: ours),
        .target(name: "Workers", dependencies: ["EventLoops", "NumberedQueues"], swiftSettings: ours),
        .target(name: "OutgoingHTTP", dependencies: ["CCurl", "EventLoops", "NumberedQueues"], swiftSettings: strict),

        // Signatures and HMACs, all by OpenSSL. Clients do not need it.
        .target(name: "Signing", dependencies: ["CSigning"], swiftSettings: ours),

        // The protocol: messages, values and their rules.
        .target(name: "PresenceProtocol", swiftSettings: ours),
        // The server's foundations: its data directory and its own Redis; tokens.
        .target(
            name: "Installation",
            dependencies: ["EventLoops", "Redis", .product(name: "Logging", package: "swift-log", condition: server)],
            swiftSettings: strict),
        .target(
            name: "Tokens",
            dependencies: ["Installation", "PresenceProtocol", "Signing"], swiftSettings: uncheckedIfReleased),
        // The rules for passwords, and their hashes.
        .target(
            name: "Passwords", dependencies: ["CSodium", "CAssets"], exclude: ["Assets"], swiftSettings: strict),
        // A shard: sockets, sessions, fan-out, Redis. It knows no feature.
        .target(
            name: "PresenceCore",
            dependencies: [
                "CAssets", "CZlib", "EventLoops", "Workers", "WebSockets", "Redis", "PresenceProtocol", "Installation",
                "Tokens",
                .product(name: "HeapModule", package: "swift-collections", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
            ],
            // CAssets embeds them.
            exclude: ["Scripts", "Sessions/Scripts", "Visibility/Scripts", "Intents/Scripts"],
            swiftSettings: unchecked + onShards
        ),
        // The features, and the server that has them.
        .target(
            name: "PresenceServer",
            dependencies: [
                "PresenceCore", "CAssets", "EventLoops", "WebSockets", "Redis", "PresenceProtocol", "Installation",
                "OutgoingHTTP", "Passwords", "Signing", "Tokens", "CPhotos",
                .product(name: "Logging", package: "swift-log", condition: server),
            ],
            // CAssets embeds them.
            exclude: [
                "Features/Accounts/Scripts", "Features/Accounts/Claims/Scripts",
                "Features/Accounts/Guests/Scripts", "Features/Accounts/Identities/Scripts",
                "Features/Accounts/Mail/Scripts", "Features/Accounts/MailCodes/Scripts",
                "Features/Profiles/Scripts", "Features/Conversations/Scripts",
                "Features/Typing/Scripts", "Features/Usernames/Scripts", "Features/Photos/Scripts",
                "Features/Attachments/Scripts",
                "Features/Messages/Scripts", "Delivery/Scripts", "Features/History/Scripts",
                "Features/Notifications/Scripts", "Features/NotificationSettings/Scripts",
                "Features/Push/Scripts", "Features/BackendKeys/Scripts", "Features/Banning/Scripts",
                "Features/AbuseReports/Scripts", "Features/ContactRequests/Scripts",
            ],
            swiftSettings: features
        ),

        // The client library: one module for each product. On Apple platforms it is pure Swift. PresenceProtocol is a
        // module of its own because the server has it, too; so are the transport's libraries of Linux.
        .target(
            name: "PresenceKit",
            dependencies: [
                "PresenceProtocol",
                .target(name: "EventLoops", condition: .when(platforms: [.linux])),
                .target(name: "WebSockets", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: strict
        ),
        // Accounts: sign-up, sign-in, the own account.
        .target(name: "PresenceAccounts", dependencies: ["PresenceKit"], swiftSettings: strict),
        // Messages: conversations, their messages, the outbox; and the app that has it all.
        .target(name: "PresenceMessages", dependencies: ["PresenceAccounts", "PresenceKit"], swiftSettings: strict),
        // Fakes for an app's tests.
        .target(
            name: "PresenceTesting",
            dependencies: ["PresenceAccounts", "PresenceKit", "PresenceMessages", "PresenceProtocol"],
            swiftSettings: strict),

        // Commands.
        .executableTarget(
            name: "presenced",
            dependencies: [
                "PresenceCore", "PresenceServer", "Installation", "OutgoingHTTP", "ProcessSignals", "Tokens",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "Yams", package: "Yams", condition: server),
            ],
            swiftSettings: strict
        ),
        // Asks for the programs that `make build` makes: so they are compiled side by side, in one build.
        .target(
            name: "Programs", dependencies: ["presenced", "presence-watch", "presence-chat", "presence-load"],
            swiftSettings: strict),
        .target(name: "ProcessSignals", swiftSettings: strict),
        // The shared part of the terminal clients.
        .target(name: "TerminalClients", dependencies: ["PresenceKit", "ProcessSignals"], swiftSettings: strict),
        .executableTarget(
            name: "presence-chat",
            dependencies: [
                "PresenceKit", "PresenceMessages", "TerminalClients",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "presence-watch",
            dependencies: [
                "PresenceKit", "TerminalClients",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
            ],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CEpoll", path: "loadtest/CEpoll"),
        .executableTarget(
            name: "presence-load",
            dependencies: [
                "CEpoll", "PresenceProtocol", "Signing",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "Histogram", package: "hdrhistogram-swift", condition: server),
            ],
            path: "loadtest/Sources",
            swiftSettings: strict
        ),

        // The server with logs in memory: loadtest/run log.
        .executableTarget(
            name: "presence-log",
            dependencies: [
                "PresenceCore", "PresenceServer", "PresenceProtocol", "EventLoops", "Redis", "WebSockets",
                "Installation", "ProcessSignals", "Tokens",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
            ],
            path: "loadtest/LogServer", swiftSettings: strict),

        // The cost of the client library's calls: loadtest/client-latency.
        .executableTarget(
            name: "kit-latency", dependencies: ["PresenceKit", "PresenceMessages"], path: "loadtest/KitLatency",
            swiftSettings: strict),

        // Tests: one folder for each module, and the code that they share.
        .executableTarget(
            name: "chaos-crowd", dependencies: ["PresenceKit", "PresenceMessages"], path: "Tests/Chaos/Crowd",
            swiftSettings: strict),
        .executableTarget(
            name: "kit-writer", dependencies: ["PresenceKit"], path: "Tests/KitWriter", swiftSettings: strict),
        .executableTarget(
            name: "message-writer", dependencies: ["PresenceMessages"], path: "Tests/MessageWriter",
            swiftSettings: strict),
        .executableTarget(
            name: "session-writer", dependencies: ["PresenceAccounts"], path: "Tests/SessionWriter",
            swiftSettings: strict),
        .target(name: "Expectations", path: "Tests/Expectations", swiftSettings: strict),
        .target(
            name: "TestSupport", dependencies: ["EventLoops", "Redis", "WebSockets"], path: "Tests/Support",
            swiftSettings: strict),
        // Shards on simulated time, and the histories that are played on them. It uses internal declarations, so it is
        // for debug builds only, like the tests; unlike the tests it is compiled with the optimizer.
        .target(
            name: "Simulator",
            dependencies: [
                "PresenceCore", "PresenceServer", "PresenceProtocol", "EventLoops", "Redis", "WebSockets", "Tokens",
                "Passwords", "Workers", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: server),
            ],
            path: "Tests/Simulator", swiftSettings: ours),
        .testTarget(name: "ExpectationsTests", swiftSettings: tests),
        .testTarget(name: "EventLoopsTests", dependencies: ["EventLoops"], swiftSettings: tests),
        .testTarget(
            name: "WorkersTests", dependencies: ["Workers", "EventLoops", "NumberedQueues"], swiftSettings: tests),
        .testTarget(
            name: "OutgoingHTTPTests", dependencies: ["OutgoingHTTP", "EventLoops", "TestSupport"],
            exclude: ["servers.py"], swiftSettings: tests),
        .testTarget(
            name: "WebSocketsTests", dependencies: ["WebSockets", "CLibWebSockets", "EventLoops", "TestSupport"],
            swiftSettings: tests),
        .testTarget(name: "RedisTests", dependencies: ["Redis", "EventLoops", "TestSupport"], swiftSettings: tests),
        .testTarget(name: "PresenceProtocolTests", dependencies: ["PresenceProtocol"], swiftSettings: tests),
        .testTarget(
            name: "InstallationTests",
            dependencies: [
                "Installation", "Tokens", "Redis", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: server),
            ],
            swiftSettings: tests),
        .testTarget(
            name: "TokensTests",
            dependencies: ["Tokens", "Installation", "PresenceProtocol", "Signing", "TestSupport"],
            swiftSettings: tests),
        .testTarget(
            name: "SigningTests", dependencies: ["Signing", "TestSupport"], exclude: ["Wycheproof"],
            swiftSettings: tests),
        .testTarget(name: "PasswordsTests", dependencies: ["Passwords"], swiftSettings: tests),
        .testTarget(
            name: "PresenceServerTests",
            dependencies: [
                "Passwords", "PresenceCore", "PresenceServer", "PresenceProtocol", "Redis", "WebSockets", "Tokens",
                "Installation", "CPhotos",
                "TestSupport",
                "Simulator",
                .product(name: "Logging", package: "swift-log", condition: server),
            ],
            exclude: ["Identities/Documents"], swiftSettings: tests),
        // A feature from outside the server, as any package could add one.
        .testTarget(
            name: "PollsTests",
            dependencies: [
                "PresenceCore", "PresenceServer", "PresenceProtocol", "Redis", "WebSockets", "Tokens", "TestSupport",
                "Simulator", "OutgoingHTTP", "Workers",
                .product(name: "Logging", package: "swift-log", condition: server),
            ],
            swiftSettings: ours),
        .testTarget(
            name: "PresenceKitTests",
            dependencies: [
                "PresenceKit", "PresenceTesting", "PresenceAccounts", "PresenceProtocol", "EventLoops", "WebSockets",
                "CLibWebSockets", "TestSupport", "kit-writer",
            ],
            swiftSettings: tests),
        .testTarget(name: "PresenceDomainTests", dependencies: ["PresenceKit"], swiftSettings: tests),
        .testTarget(
            name: "PresenceModelsTests",
            dependencies: ["PresenceKit", "PresenceMessages", "PresenceTesting"],
            swiftSettings: tests),
        .testTarget(
            name: "PresenceAccountsTests",
            dependencies: [
                "PresenceAccounts", "PresenceMessages", "PresenceTesting", "PresenceKit", "TestSupport",
                "session-writer",
            ],
            swiftSettings: tests),
        .testTarget(
            name: "PresenceMessagesTests",
            dependencies: ["PresenceMessages", "PresenceTesting", "PresenceKit", "TestSupport", "message-writer"],
            swiftSettings: tests),
        .testTarget(
            name: "PresenceURLSessionTests", dependencies: ["PresenceKit"],
            swiftSettings: tests),
        .testTarget(
            name: "PresencedTests",
            dependencies: [
                "presenced", "PresenceCore", "PresenceServer", "PresenceProtocol", "Installation", "ProcessSignals",
                "Tokens", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "Yams", package: "Yams", condition: server),
            ],
            swiftSettings: tests),
        .testTarget(
            name: "PresenceWatchTests",
            dependencies: [
                "presence-chat", "presence-watch", "presenced", "PresenceKit", "PresenceMessages", "PresenceTesting",
                "TerminalClients", "TestSupport",
            ],
            swiftSettings: tests),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "presenced", "PresenceAccounts", "PresenceTesting", "PresenceKit", "PresenceMessages", "TestSupport",
                "message-writer",
            ],
            exclude: ["watcher.py"],
            swiftSettings: tests),
        .testTarget(
            name: "PresenceLoadTests",
            dependencies: ["presence-load", "PresenceProtocol", "Signing"], swiftSettings: tests),
    ]
)

/// Folders with a page of their own (README.md), which is not a source.
let pages: [String: [String]] = [
    "OutgoingHTTP": [""], "PresenceAccounts": [""], "PresenceKit": [""], "PresenceMessages": [""], "Redis": [""],
    "Simulator": [""], "WebSockets": [""], "presence-load": [""],
    "PresenceCore": [
        "FanOut/", "HTTP/", "Intents/", "Membership/", "Requests/", "Store/", "Visibility/", "Work/",
    ],
    "PresenceServer": [
        "Delivery/", "Files/", "Features/AbuseReports/", "Features/Accounts/", "Features/Attachments/",
        "Features/BackendKeys/", "Features/Banning/", "Features/Console/", "Features/ContactRequests/",
        "Features/Conversations/", "Features/Export/", "Features/History/",
        "Features/Messages/", "Features/Moderation/", "Features/NotificationSettings/", "Features/Notifications/",
        "Features/Photos/", "Features/Push/", "Features/Usernames/", "Features/Webhooks/",
    ],
]
for target in package.targets {
    target.exclude += (pages[target.name] ?? []).map { $0 + "README.md" }
}

/// Functions for tests in place of the macro `#expect`.
for target in package.targets where target.type == .test { target.dependencies.append("Expectations") }

/// For Apple's App Store: the session store uses UserDefaults. Linux would make a bundle of it, which no program needs.
let privacy = "PrivacyInfo.xcprivacy"
let accounts = package.targets.first { $0.name == "PresenceAccounts" }!
accounts.exclude.append(privacy)

/// SwiftPM compiles ready targets in the order of names, from Z to A. The longest chain of modules is Redis, Tokens,
/// the core, the server, the simulator, the server's tests. So other tests depend on a link of it, and are compiled
/// beside the next one.
if isForTests {
    let beside: [(link: Target.Dependency, tests: [String])] = [
        (
            "Tokens",
            [
                "EventLoopsTests", "OutgoingHTTPTests", "PasswordsTests", "PresenceAccountsTests",
                "PresenceMessagesTests", "PresenceModelsTests", "SigningTests",
            ]
        ),
        ("PresenceCore", ["PresenceKitTests", "PresenceLoadTests", "PresenceProtocolTests"]),
        ("PresenceServer", ["PresenceDomainTests", "PresenceURLSessionTests", "RedisTests"]),
        ("Simulator", ["TokensTests", "WebSocketsTests", "WorkersTests"]),
    ]
    for (link, tests) in beside {
        for target in package.targets where tests.contains(target.name) {
            target.dependencies.append(link)
        }
    }
}

#if !os(Linux)
    // The client alone. `swift build` asks for each target that there is, and the server's C libraries are for Linux, as is
    // the client's transport over libwebsockets.
    let linux = ["EventLoops", "WebSockets"]
    func names(_ target: Target) -> [String] {
        target.dependencies.compactMap {
            switch $0 {
            case .targetItem(let name, _), .byNameItem(let name, _): linux.contains(name) ? nil : name
            default: nil
            }
        }
    }
    let libraries = package.products.compactMap { $0 as? Product.Library }
    var needed = Set(libraries.flatMap(\.targets))
    for _ in package.targets {
        for target in package.targets where needed.contains(target.name) { needed.formUnion(names(target)) }
    }
    accounts.exclude.removeAll { $0 == privacy }
    accounts.resources = [.copy(privacy)]
    package.products = libraries
    package.dependencies = []
    package.targets.removeAll { !needed.contains($0.name) }
    for target in package.targets { target.dependencies = names(target).map { .byName(name: $0) } }
#endif

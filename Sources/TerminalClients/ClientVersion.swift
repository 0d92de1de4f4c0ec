/// The version of this build, the same as the server's, as printed by `--version`.
package enum ClientVersion {
    package static let current = "0.1.0-dev"
}

import Foundation

/// Where the session of the signed-in user is stored on this device, one for each server.
public struct SessionStore: Sendable {
    package let tokens: any TokenStore

    package init(_ tokens: any TokenStore) { self.tokens = tokens }

    /// The keychain on Apple platforms; elsewhere a file that only its owner can read, in the user's state folder:
    /// `$XDG_STATE_HOME` or `~/.local/state`.
    ///
    /// - Parameter name: the name of the keychain's service or of the folder. An app that uses several servers needs
    ///   a name for each.
    public static func standard(_ name: String = "presence") -> SessionStore {
        #if canImport(Security)
            keychain(service: name)
        #else
            SessionStore(FileTokenStore.standard(name))
        #endif
    }

    /// A file that only its owner can read, not encrypted. Its folder is created if it does not exist. After a kill or a
    /// power cut at any moment, either the old or the new session is there, complete. Only one process may write it.
    public static func file(_ url: URL) -> SessionStore { SessionStore(FileTokenStore(url)) }

    /// Memory: the session ends with the process.
    public static func memory() -> SessionStore { SessionStore(MemoryTokenStore()) }

    #if canImport(Security)
        /// The keychain: only on this device, and readable after its first unlock, so that the app can handle a push in
        /// the background. After a new installation of the app, the session of the former installation is removed; a
        /// flag in the app's own defaults marks the installation. On macOS the keychain needs a signed app; a tool uses
        /// ``file(_:)``.
        ///
        /// - Parameters:
        ///   - service: the name of the keychain service. An app that uses several servers needs a name for each.
        ///   - accessGroup: shares the session between the app and its extensions: each renews the session that the
        ///     others have stored, and a sign-out in any of them signs out all.
        ///   - defaults: stores the flag of the installation. A shared session requires the defaults of the group. With
        ///     its own defaults, an extension would treat the session as that of a former installation and remove it.
        public static func keychain(
            service: String = "presence", accessGroup: String? = nil, defaults: UserDefaults = .standard
        ) -> SessionStore {
            SessionStore(KeychainTokenStore(service: service, accessGroup: accessGroup, defaults: defaults))
        }
    #endif
}

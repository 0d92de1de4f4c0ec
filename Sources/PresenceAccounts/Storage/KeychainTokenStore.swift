// Never run on a device: only compiled against Apple's frameworks.
#if canImport(Security)
    import Foundation
    import Security

    // @unchecked: UserDefaults may be used from any thread; all other state is constant.
    /// Stores the session in the keychain of Apple platforms: only on this device, and readable after its first unlock,
    /// so that the app can handle a push in the background.
    ///
    /// A keychain survives the removal of the app. After a new installation, the session of the former installation is
    /// removed; a flag in the app's own defaults marks the installation.
    package final class KeychainTokenStore: TokenStore, @unchecked Sendable {
        private let service: String
        private let accessGroup: String?
        private let defaults: UserDefaults

        private static let account = "session"

        /// - Parameters:
        ///   - service: the name of the keychain service. An app that uses several servers needs a name for each.
        ///   - accessGroup: shares the session between the app and its extensions: each renews the session that the
        ///     others have stored, and a sign-out in any of them signs out all.
        ///   - defaults: stores the flag of the installation. A shared session requires the defaults of the group. With
        ///     its own defaults, an extension would treat the session as that of a former installation and remove it.
        package init(service: String = "presence", accessGroup: String? = nil, defaults: UserDefaults = .standard) {
            precondition(
                accessGroup == nil || defaults !== UserDefaults.standard,
                "a session that is shared needs the defaults of the app's group")
            (self.service, self.accessGroup, self.defaults) = (service, accessGroup, defaults)
        }

        package func load() throws -> StoredSession? {
            guard let data = try read(Self.account) else {
                // Before its first unlock, a device may report that no item exists.
                try checkUsable()
                defaults.set(true, forKey: flag)
                return nil
            }
            // A successful read shows that the device was unlocked, so the flag can be read, too.
            guard isInstalled else {
                try clear()
                defaults.set(true, forKey: flag)
                return nil
            }
            do {
                return try StoredSession(encoded: data)
            } catch {
                try setAside("\(Self.account).\(error.rawValue)")
                return nil
            }
        }

        package func save(_ session: StoredSession) throws {
            try write(try session.encoded(), to: Self.account)
            defaults.set(true, forKey: flag)
        }

        package func clear() throws {
            for account in [Self.account, Self.account + ".damaged", Self.account + ".later"] { try remove(account) }
        }

        // MARK: Farewells

        private static let farewells = "farewells"

        package func loadFarewells() throws -> [String] {
            try read(Self.farewells).flatMap { try? JSONDecoder().decode([String].self, from: $0) } ?? []
        }

        package func saveFarewells(_ tokens: [String]) throws {
            guard tokens.isEmpty else { return try write(try JSONEncoder().encode(tokens), to: Self.farewells) }
            try remove(Self.farewells)
        }

        // MARK: Items

        private func read(_ account: String) throws -> Data? {
            var query = query(account)
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess, let data = found as? Data else { throw failure("read", status) }
            return data
        }

        private func write(_ data: Data, to account: String) throws {
            let values: [String: Any] = [
                kSecValueData as String: data,
                kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemUpdate(query(account) as CFDictionary, values as CFDictionary)
            if status == errSecItemNotFound {
                status = SecItemAdd(query(account).merging(values) { $1 } as CFDictionary, nil)
            }
            guard status == errSecSuccess else { throw failure("write", status) }
        }

        private func remove(_ account: String) throws {
            let status = SecItemDelete(query(account) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw failure("remove", status) }
        }

        private func setAside(_ name: String) throws {
            try remove(name)
            let values: [String: Any] = [kSecAttrAccount as String: name]
            let status = SecItemUpdate(query(Self.account) as CFDictionary, values as CFDictionary)
            guard status == errSecSuccess else { throw failure("rename", status) }
        }

        /// Writes an item, which needs the key that is available after the first unlock.
        private func checkUsable() throws {
            let probe = "probe"
            try remove(probe)
            try write(Data(), to: probe)
            try remove(probe)
        }

        private var flag: String { "presence.installed.\(service)" }
        private var isInstalled: Bool { defaults.bool(forKey: flag) }

        private func query(_ account: String) -> [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: service,
                kSecAttrAccount as String: account,
                // macOS also has another keychain, without accessibility attributes.
                kSecUseDataProtectionKeychain as String: true,
            ]
            if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
            return query
        }

        private func failure(_ verb: String, _ status: OSStatus) -> PresenceError {
            PresenceError.account(.storageFailed, "the keychain did not \(verb): \(status)")
        }
    }
#endif

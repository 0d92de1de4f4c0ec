// Never run on a device: compiled against the interfaces of Apple's frameworks only.
#if canImport(Security)
    import Foundation
    import Security

    // @unchecked: UserDefaults may be used from any thread; everything else is constant.
    /// Keeps the session in the keychain of Apple's systems: on this device only, readable after its first unlock, so that
    /// a push in the background can be answered.
    ///
    /// A keychain outlives the app. After a new installation the session of the former one is removed: a flag in the app's
    /// own defaults says whether this installation has been here.
    public final class KeychainTokenStore: TokenStore, @unchecked Sendable {
        private let service: String
        private let accessGroup: String?
        private let defaults: UserDefaults

        private static let account = "session"

        /// - Parameters:
        ///   - service: one for each server, if the app knows several.
        ///   - accessGroup: shares the session with the app's extensions: each renews what the others have left, and a sign-out
        ///     of one is a sign-out of all.
        ///   - defaults: where the flag of the installation is. If the session is shared, they must be the group's, and are
        ///     needed: by its own, an extension would take the session for that of a former installation, and remove it.
        public init(service: String = "presence", accessGroup: String? = nil, defaults: UserDefaults = .standard) {
            precondition(
                accessGroup == nil || defaults !== UserDefaults.standard,
                "a session that is shared needs the defaults of the app's group")
            self.service = service
            self.accessGroup = accessGroup
            self.defaults = defaults
        }

        public func load() throws -> StoredSession? {
            guard let data = try read(Self.account) else {
                // Before its first unlock a device may say of everything that it is not there.
                try checkUsable()
                defaults.set(true, forKey: flag)
                return nil
            }
            // What was read shows that the device was unlocked, so the flag can be read, too.
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

        public func save(_ session: StoredSession) throws {
            try write(try session.encoded(), to: Self.account)
            defaults.set(true, forKey: flag)
        }

        public func clear() throws {
            for account in [Self.account, Self.account + ".damaged", Self.account + ".later"] { try remove(account) }
        }

        // MARK: Farewells

        private static let farewells = "farewells"

        public func loadFarewells() throws -> [String] {
            try read(Self.farewells).flatMap { try? JSONDecoder().decode([String].self, from: $0) } ?? []
        }

        public func saveFarewells(_ tokens: [String]) throws {
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

        /// Writes something, which needs the key that an unlock gives.
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
                // macOS has another keychain too, which does not know accessibility.
                kSecUseDataProtectionKeychain as String: true,
            ]
            if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
            return query
        }

        private func failure(_ verb: String, _ status: OSStatus) -> AccountError {
            AccountError(.storageFailed, "the keychain did not \(verb): \(status)")
        }
    }
#endif

extension Device.Kind {
    /// The kind of this machine according to the system; `other` if unknown.
    public static var current: Device.Kind {
        #if targetEnvironment(macCatalyst)
            .desktop
        #elseif os(iOS)
            // Reading the idiom would need the main actor; the model's name does not.
            deviceModel().hasPrefix("iPad") ? .tablet : .phone
        #elseif os(macOS)
            .desktop
        #else
            .other
        #endif
    }
}

#if os(iOS) && !targetEnvironment(macCatalyst)
    import Darwin

    /// A name such as `iPhone16,1`.
    private func deviceModel() -> String {
        var names = utsname()
        uname(&names)
        return withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
#endif

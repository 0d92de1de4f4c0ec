extension DeviceKind {
    /// What this program runs on, as far as the system tells: `other` where it does not.
    public static var current: DeviceKind {
        #if os(iOS)
            // The idiom is read on the main actor; the model's name needs none.
            deviceModel().hasPrefix("iPad") ? .tablet : .phone
        #elseif os(macOS)
            .desktop
        #else
            .other
        #endif
    }
}

#if os(iOS)
    import Darwin

    /// Such as `iPhone16,1`.
    private func deviceModel() -> String {
        var names = utsname()
        uname(&names)
        return withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
#endif

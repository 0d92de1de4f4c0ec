/// A language tag of BCP 47 (RFC 5646), such as `pt-BR`, `zh-Hant-TW` or `de-CH-1996`.
///
/// Only the form is checked, not whether the subtags are registered, since the registry grows.
public enum LanguageTag {
    /// The longest tag, in bytes. RFC 5646 requires room for 35.
    public static let maximumBytes = 128

    /// Tags outside the grammar that RFC 5646 keeps for compatibility.
    private static let irregular: Set<String> = [
        "en-gb-oed", "i-ami", "i-bnn", "i-default", "i-enochian", "i-hak", "i-klingon", "i-lux", "i-mingo", "i-navajo",
        "i-pwn", "i-tao", "i-tay", "i-tsu", "sgn-be-fr", "sgn-be-nl", "sgn-ch-de",
    ]

    public static func isWellFormed(_ tag: String) -> Bool {
        guard (1...maximumBytes).contains(tag.utf8.count) else { return false }
        let lowercase = String(decoding: tag.utf8.map(lowercased), as: UTF8.self)
        if irregular.contains(lowercase) { return true }
        var subtags = lowercase.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)[...]
        guard subtags.allSatisfy({ (1...8).contains($0.count) && $0.allSatisfy(isAlphanumeric) }) else { return false }
        return isLanguageTag(&subtags)
    }

    // language ["-" script] ["-" region] *("-" variant) *("-" extension) ["-" private use], or private use alone
    private static func isLanguageTag(_ subtags: inout ArraySlice<Substring.UTF8View>) -> Bool {
        if consumePrivateUse(&subtags) { return subtags.isEmpty }
        guard let language = subtags.popFirst(), language.count >= 2, language.allSatisfy(isLetter) else {
            return false
        }
        if language.count <= 3 {
            // Up to three extended language subtags.
            for _ in 0..<3 {
                guard let next = subtags.first, next.count == 3, next.allSatisfy(isLetter) else { break }
                subtags.removeFirst()
            }
        }
        if let script = subtags.first, script.count == 4, script.allSatisfy(isLetter) { subtags.removeFirst() }
        if let region = subtags.first, isRegion(region) { subtags.removeFirst() }
        guard consumeVariants(&subtags), consumeExtensions(&subtags) else { return false }
        _ = consumePrivateUse(&subtags)
        return subtags.isEmpty
    }

    private static func isRegion(_ subtag: Substring.UTF8View) -> Bool {
        subtag.count == 2 && subtag.allSatisfy(isLetter) || subtag.count == 3 && subtag.allSatisfy(isDigit)
    }

    /// Consumes all variants; `false` if one occurs twice.
    private static func consumeVariants(_ subtags: inout ArraySlice<Substring.UTF8View>) -> Bool {
        var seen: Set<String> = []
        while let subtag = subtags.first {
            guard subtag.count >= 5 || subtag.count == 4 && isDigit(subtag.first!) else { return true }
            guard seen.insert(String(subtag)!).inserted else { return false }
            subtags.removeFirst()
        }
        return true
    }

    /// Consumes all extensions; `false` if one is empty or occurs twice.
    private static func consumeExtensions(_ subtags: inout ArraySlice<Substring.UTF8View>) -> Bool {
        var seen: Set<UInt8> = []
        while let singleton = subtags.first, singleton.count == 1, singleton.first! != UInt8(ascii: "x") {
            guard seen.insert(singleton.first!).inserted else { return false }
            subtags.removeFirst()
            let count = subtags.prefix { $0.count >= 2 }.count
            guard count > 0 else { return false }
            subtags.removeFirst(count)
        }
        return true
    }

    /// Consumes `x` and the subtags after it, which may be anything.
    private static func consumePrivateUse(_ subtags: inout ArraySlice<Substring.UTF8View>) -> Bool {
        guard let first = subtags.first, first.count == 1, first.first! == UInt8(ascii: "x"), subtags.count > 1 else {
            return false
        }
        subtags.removeAll()
        return true
    }
}

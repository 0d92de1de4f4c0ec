import Expectations
import PresenceProtocol
import Testing

struct FreeTextTests {
    @Test(arguments: [
        0x00, 0x07, 0x09, 0x0A, 0x0D, 0x1F, 0x7F, 0x80, 0x85, 0x9F, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A,
        0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069,
    ])
    func `control and bidirectional-control characters are refused`(code: UInt32) {
        let text = "a\(Unicode.Scalar(code)!)b"
        expect(!StatusText.isValid(text))
        expect(!DeviceName.isValid(text))
        expect(DisplayName.normalized(text), equals: nil)
    }

    @Test(arguments: [
        0x20, 0x7E, 0xA0, 0x061B, 0x061D, 0x200C, 0x200D, 0x2010, 0x2027, 0x202F, 0x2065, 0x206A, 0xE0067,
    ])
    func `their neighbours and the joiners are allowed`(code: UInt32) {
        expect(StatusText.isValid("a\(Unicode.Scalar(code)!)b"))
    }

    @Test func `characters are counted as people do`() {
        let family = "👨‍👩‍👧"
        expect(DisplayName.normalized(String(repeating: family, count: 50)) != nil)
        expect(DisplayName.normalized(String(repeating: family, count: 51)), equals: nil)
        expect(DisplayName.normalized(String(repeating: "🇩🇪", count: 50)) != nil)
        expect(DisplayName.normalized(String(repeating: "🇩🇪", count: 51)), equals: nil)
        expect(DisplayName.normalized(String(repeating: "e\u{301}", count: 50)) != nil)
        expect(StatusText.isValid("🏴󠁧󠁢󠁥󠁮󠁧󠁿"))
    }

    @Test func `1,024 bytes are taken and one more is refused, however few characters they are`() {
        let zalgo = { (bytes: Int) in "xy" + String(repeating: "\u{301}", count: (bytes - 2) / 2) }
        expect(zalgo(1024).count, equals: 2)
        expect(StatusText.isValid(zalgo(1024)))
        expect(!StatusText.isValid(zalgo(1026)))
        expect(!StatusText.isValid(zalgo(1024) + "z"))
        expect(DisplayName.normalized(zalgo(1024)) != nil)
        expect(DisplayName.normalized(zalgo(1024) + "z"), equals: nil)
        expect(!DeviceName.isValid(zalgo(1024) + "z"))
    }

    @Test func `a display name is trimmed of Unicode white space before it is judged`() {
        expect(DisplayName.normalized("\u{3000}\t Bob  Ray\u{2028}\n\u{A0}"), equals: "Bob  Ray")
        expect(DisplayName.normalized(" \u{2003}\u{85} "), equals: nil)
        expect(DisplayName.normalized(""), equals: nil)
        expect(DisplayName.normalized(String(repeating: " ", count: 2000) + "x"), equals: "x")
        expect(DisplayName.normalized(String(repeating: "x", count: 50) + " ") != nil)
        expect(DisplayName.normalized(String(repeating: "x", count: 51)), equals: nil)
    }
}

struct PhotoURLTests {
    @Test(arguments: [
        "https://example.org", "https://example.org/", "HTTPS://EXAMPLE.ORG/A", "https://example.org:8443/a?b=c#d",
        "https://e.org?x", "https://e.org#x", "https://a.b-c.d_e.org./x", "https://localhost/x", "https://192.0.2.1/x",
        "https://[2001:db8::1]/x", "https://[::]/", "https://[::ffff:192.0.2.1]:1/", "https://[1:2:3:4:5:6:7:8]/",
        "https://e.org/%20a(b)!$&'*+,;=:@-._~", "https://e.org/?size[]=1", "https://xn--mnchen-3ya.de/",
        "https://1e.org",
        "http://localhost", "http://LOCALHOST:8080/a", "http://127.0.0.1:80/a", "http://127.255.0.9/", "http://[::1]/a",
        "http://[::1]:65535/",
    ])
    func `an absolute https URL with a host is taken`(url: String) {
        expect(PhotoURL.isValid(url))
    }

    @Test(arguments: [
        "", "https", "https:", "https://", "https:///a", "https://?x", "https://#x", "https://:80/", "https:/e.org",
        "https:e.org", "//e.org/a", "/a.png", "e.org/a.png", "ftp://e.org/a", "javascript:alert(1)",
        "data:image/png;base64,AAAA", " https://e.org", "https://e.org ", "https://a b/", "https://e.org/a b",
        "https://e.org/\n", "https://e.org/\u{7F}", "https://e.org/\u{0}", "https://user@e.org/", "https://u:p@e.org/",
        "https://@e.org/", "https://e.org\\@evil.org", "https://e.org:0/", "https://e.org:65536/", "https://e.org:/",
        "https://e.org:8a/", "https://e.org:123456/", "https://é.org/", "https://e.org/é", "https://e.org/%2",
        "https://e.org/%zz", "https://e.org/<", "https://e.org/\"", "https://e.org/`", "https://e.org/{}",
        "https://e.org/^", "https://e.org/|", "https://.org/", "https://e..org/", "https://./", "https://%41.org/",
        "https://256.0.0.1/", "https://1.2.3/", "https://0x7f.1/", "https://0x7f000001/", "https://01.2.3.4/",
        "https://[::1", "https://[]/", "https://[:::]/", "https://[1:2]/", "https://[::1::]/", "https://[g::]/",
        "https://[1:2:3:4:5:6:7:8:9]/", "https://[::12345]/", "https://[::1%25eth0]/", "https://[::1]x/",
        "http://example.org/a.png", "http://localhost.example.org/", "http://127.0.0.1.example.org/",
        "http://localhost@example.org/", "http://128.0.0.1/", "http://127.1/", "http://[::2]/", "http://0.0.0.0/",
    ])
    func `anything else is refused`(url: String) {
        expect(!PhotoURL.isValid(url))
    }

    @Test func `2,048 bytes are taken and 2,049 are refused`() {
        expect(PhotoURL.isValid("https://e.org/" + String(repeating: "x", count: 2048 - 14)))
        expect(!PhotoURL.isValid("https://e.org/" + String(repeating: "x", count: 2049 - 14)))
        expect(PhotoURL.isValid("https://" + String(repeating: "x", count: 63) + ".org"))
        expect(!PhotoURL.isValid("https://" + String(repeating: "x", count: 64) + ".org"))
    }
}

struct TimeZoneNameTests {
    @Test(arguments: [
        "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Etc/GMT-14", "EST5EDT", "GB-Eire",
        "America/Port-au-Prince", "Z",
    ])
    func `a name of the IANA database's shape is taken`(name: String) {
        expect(TimeZoneName.isWellFormed(name))
    }

    @Test(arguments: [
        "", "/", "../../etc/passwd", "Europe/Berlin ", " UTC", "/Europe/Berlin", "Europe/Berlin/", "Europe//Berlin",
        "Europe/../Berlin", ".", "Europe\\Berlin", "Zürich", "UTC\0", "+05:00", "5", "Europe/5",
    ])
    func `anything else is refused`(name: String) {
        expect(!TimeZoneName.isWellFormed(name))
    }

    @Test func `64 bytes are taken and 65 are refused`() {
        expect(TimeZoneName.isWellFormed(String(repeating: "x", count: 64)))
        expect(!TimeZoneName.isWellFormed(String(repeating: "x", count: 65)))
    }
}

struct LanguageTagTests {
    @Test(arguments: [
        "en", "de-CH", "pt-BR", "zh-Hant-TW", "es-419", "sl-rozaj-biske", "sl-nedis", "de-CH-1901", "de-1996", "yue",
        "zh-cmn-Hans-CN", "hy-Latn-IT-arevela", "en-US-u-islamcal", "de-DE-u-co-phonebk", "en-a-myext-b-another",
        "x-whatever", "en-x-a", "qaa-Qaaa-QM-x-southern", "i-klingon", "EN-gb", "sgn-BE-FR", "abcde", "abcdefgh",
        "en-GB-oed", "art-lojban", "zh-yue", "ar-a-aaa-b-bbb-a1b2",
    ])
    func `a well-formed tag is taken`(tag: String) {
        expect(LanguageTag.isWellFormed(tag))
    }

    @Test(arguments: [
        "", "e", "en_US", "not a locale", "de--DE", "-de", "de-", "de-DE-toolongsubtag", "ä", "419", "a-DE",
        "i-whatever",
        "de-DE-DE", "de-Latn-Latn", "en-a", "en-a-b", "en-u", "en-x", "x", "en-a-bbb-a-ccc", "sl-rozaj-rozaj",
        "de-419-DE", "abcd-abc", "en-1", "abcdefghi", "en-u-a", "zh-a-b-c-d", "ar-aao-abh-abv-acm", "12-DE",
    ])
    func `anything else is refused`(tag: String) {
        expect(!LanguageTag.isWellFormed(tag))
    }

    @Test func `128 bytes are taken and 129 are refused`() {
        let tag = "en-x" + String(repeating: "-abcdefg", count: 15) + "-abc"
        expect(tag.utf8.count, equals: 128)
        expect(LanguageTag.isWellFormed(tag))
        expect(!LanguageTag.isWellFormed(tag + "d"))
    }
}

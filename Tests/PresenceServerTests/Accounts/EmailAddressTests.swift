import Expectations
import Testing

@testable import PresenceServer

@Suite struct EmailAddressTests {
    @Test(arguments: [
        "a@b.co", "Ana.B+tag@Example.ORG", "o'neil@example.org", "x_y-z=1@sub.domain.example.org",
        "a@xn--exmple-cua.org",
        "#!$%&'*+-/=?^_`{|}~@example.org", "1@2a.org", "a@1.example",
    ])
    func `addresses are stored in lower case`(_ text: String) {
        expect(EmailAddress(text)?.text, equals: text.lowercased())
    }

    @Test(arguments: [
        "", "@", "a", "a@", "@b.co", "a@b", "a@b.", "a@.b", "a@b..co", ".a@b.co", "a.@b.co", "a..b@b.co", "a@b@c.co",
        "a b@c.co",
        "a@b c.co", "a@-b.co", "a@b-.co", "a@b_c.co", "a@1.2.3.4", "a@[1.2.3.4]", "\"a\"@b.co", "ä@b.co", "a@ä.co",
        "a@b.co\r\nBcc: c@d.co", "a@b.co\n", "a\u{0}@b.co", "a@b.co,c@d.co", "Ana <a@b.co>", " a@b.co", "a@b.co ",
    ])
    func `malformed addresses are rejected`(_ text: String) {
        expect(EmailAddress(text), equals: nil)
    }

    @Test func `the limits on lengths are exact`() {
        let local = String(repeating: "a", count: 64)
        expect(EmailAddress(local + "@b.co") != nil && EmailAddress(local + "a@b.co") == nil)
        let label = String(repeating: "b", count: 63)
        expect(EmailAddress("a@\(label).co") != nil && EmailAddress("a@\(label)b.co") == nil)
        let longest = local + "@" + label + "." + label + "." + String(repeating: "c", count: 58) + ".co"
        expect(longest.utf8.count == 254 && EmailAddress(longest) != nil)
        expect(
            EmailAddress(local + "@" + label + "." + label + "." + String(repeating: "c", count: 59) + ".co"),
            equals: nil)
    }
}

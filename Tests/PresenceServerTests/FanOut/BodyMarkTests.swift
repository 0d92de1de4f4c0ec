import Expectations
import PresenceProtocol
import Testing

@testable import PresenceCore

/// Addresses in profiles, whose prefix is inserted on delivery.
@Suite struct BodyMarkTests {
    private let mark = BodyMark("photo:", replacement: "https://e.org/\"v1\"/")

    private func filled(_ body: String) -> String {
        String(decoding: BodyMark?.some(mark).filled(Array(body.utf8)), as: UTF8.self)
    }

    @Test func `each value that begins with the mark gets the address's prefix`() {
        expect(
            filled(#""photoURL":"photo:a.jpg","thumbnailURL":"photo:b.jpg","createdAt":1}"#),
            equals:
                #""photoURL":"https://e.org/\"v1\"/a.jpg","thumbnailURL":"https://e.org/\"v1\"/b.jpg","createdAt":1}"#)
    }

    @Test(
        arguments: [
            "", "}", #""displayName":"photo","createdAt":1}"#, #""displayName":"a photo:b","createdAt":1}"#,
            #""displayName":"\":\"photo:","createdAt":1}"#, #""displayName":"\\\":\"photo:","createdAt":1}"#,
            #""photoURL":"https://e.org/photo:a","createdAt":1}"#, #""photoURL":"phot"#,
        ])
    func `users' own text is delivered unchanged`(body: String) {
        expect(filled(body), equals: body)
    }

    @Test func `without a mark a body is delivered unchanged`() {
        let body = Array(#""photoURL":"photo:a.jpg"}"#.utf8)
        expect(BodyMark?.none.filled(body), equals: body)
    }
}

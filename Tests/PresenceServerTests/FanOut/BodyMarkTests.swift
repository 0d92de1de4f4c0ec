import PresenceProtocol
import Testing

@testable import PresenceCore

/// Addresses in profiles, whose beginning is put there when they are told.
@Suite struct BodyMarkTests {
    private let mark = BodyMark("photo:", told: "https://e.org/\"v1\"/")

    private func filled(_ body: String) -> String {
        String(decoding: BodyMark?.some(mark).filled(Array(body.utf8)), as: UTF8.self)
    }

    @Test func `each value that begins with the mark gets the beginning of its address`() {
        #expect(
            filled(#""photoURL":"photo:a.jpg","thumbnailURL":"photo:b.jpg","createdAt":1}"#)
                == #""photoURL":"https://e.org/\"v1\"/a.jpg","thumbnailURL":"https://e.org/\"v1\"/b.jpg","createdAt":1}"#
        )
    }

    @Test(
        arguments: [
            "", "}", #""displayName":"photo","createdAt":1}"#, #""displayName":"a photo:b","createdAt":1}"#,
            #""displayName":"\":\"photo:","createdAt":1}"#, #""displayName":"\\\":\"photo:","createdAt":1}"#,
            #""photoURL":"https://e.org/photo:a","createdAt":1}"#, #""photoURL":"phot"#,
        ])
    func `what a user has written is told as it is`(body: String) {
        #expect(filled(body) == body)
    }

    @Test func `without a mark a body is told as it is`() {
        let body = Array(#""photoURL":"photo:a.jpg"}"#.utf8)
        #expect(BodyMark?.none.filled(body) == body)
    }
}

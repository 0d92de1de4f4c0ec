import Expectations
import PresenceProtocol
import Testing

@testable import PresenceServer

/// An upload's name, its content type, and the header with its name.
@Suite struct AttachmentHeadTests {
    private func head(_ query: String = "", _ type: String? = nil) throws -> AttachmentHead {
        try AttachmentHead(query: query, type: type)
    }

    @Test(arguments: [
        ("", nil), ("x=1", nil), ("name=a.pdf", "a.pdf"), ("x=1&name=a%20b.pdf&y=2", "a b.pdf"), ("name=a+b", "a+b"),
        ("name=%C3%A9t%C3%A9.txt", "été.txt"), ("name=%41%42", "AB"), ("name=a%25b", "a%b"), ("name=...", "..."),
        ("name=a=b", "a=b"), ("name=%F0%9F%98%80", "😀"),
    ])
    func `a name is percent-encoded UTF-8`(_ query: String, _ name: String?) throws {
        try expect(head(query).name, equals: name)
    }

    @Test(arguments: [
        "name", "name=", "name=%", "name=%4", "name=%+1", "name=%-1", "name=%zz", "name=%ff", "name=%c3%28",
        "name=a%00b",
        "name=a%0Ab", "name=a%7fb", "name=%C2%85", "name=a%2Fb", "name=a/b", "name=a%5Cb", "name=.", "name=..",
        "name=%E2%80%AEgpj.exe", "name=a&name=b",
    ])
    func `a malformed name is rejected`(_ query: String) {
        let failure = #expect(throws: DecodingFailure.self) { try head(query) }
        expect(failure?.field == "name" && failure?.code == .validationFailed)
    }

    @Test func `a name has at most 255 bytes`() throws {
        try expect(head("name=" + String(repeating: "a", count: 255)).name?.utf8.count, equals: 255)
        try expect(head("name=" + String(repeating: "%61", count: 255)).name?.utf8.count, equals: 255)
        #expect(throws: DecodingFailure.self) { try head("name=" + String(repeating: "a", count: 256)) }
        #expect(throws: DecodingFailure.self) { try head("name=" + String(repeating: "%C3%A9", count: 128)) }
    }

    @Test func `pictures, videos and files are distinguished, and only harmless types are served`() throws {
        for (type, kind, served) in [
            ("image/jpeg", AttachmentHead.Kind.image, nil), ("IMAGE/PNG; x=y", .image, nil),
            ("image/gif", .file, "image/gif"), ("image/svg+xml", .file, nil), ("text/html", .file, nil),
            ("video/mp4", .video, "video/mp4"), ("video/x-unknown", .video, nil),
            ("application/pdf", .file, "application/pdf"),
            ("application/xhtml+xml", .file, nil), ("", .file, nil), ("nonsense", .file, nil),
        ] {
            try expect(head("", type).kind, equals: kind, "\(type)")
            try expect(head("", type).type, equals: served, "\(type)")
        }
        try expect(head().kind == .file && head().type == nil)
    }

    @Test func `a name is sent in ASCII and in full`() {
        for (name, text) in [
            (nil, "attachment"), ("a.pdf", #"attachment; filename="a.pdf"; filename*=UTF-8''a.pdf"#),
            ("a b.pdf", #"attachment; filename="a b.pdf"; filename*=UTF-8''a%20b.pdf"#),
            (#"a"b\c%d;e"#, #"attachment; filename="a_b_c_d;e"; filename*=UTF-8''a%22b%5Cc%25d%3Be"#),
            ("été", #"attachment; filename="_t_"; filename*=UTF-8''%C3%A9t%C3%A9"#),
            ("it's (1)*", #"attachment; filename="it's (1)*"; filename*=UTF-8''it%27s%20%281%29%2A"#),
        ] as [(String?, String)] {
            expect(AttachmentDisposition.text(name), equals: text)
        }
    }
}

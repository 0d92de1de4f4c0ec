import Expectations
import Testing

@testable import PresenceServer

/// Signatures and listings of S3-compatible storage.
@Suite struct S3SignerTests {
    /// Examples from https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, with this key.
    static let signer = S3Signer(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1")
    /// 2013-05-24T00:00:00Z.
    static let time: Int64 = 1_369_353_600

    private func signature(of request: S3Request) -> String? {
        let headers = Self.signer.headers(of: request, to: "examplebucket.s3.amazonaws.com", at: Self.time)
        expect(headers.contains { $0 == ("x-amz-date", "20130524T000000Z") })
        let value = headers.first { $0.name == "authorization" }?.value ?? ""
        expect(
            value.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="))
        return value.split(separator: "Signature=").last.map(String.init)
    }

    @Test func `reading an object is signed as in Amazon's example`() {
        var request = S3Request("GET", "/test.txt")
        request.headers = [("range", "bytes=0-9")]
        expect(signature(of: request), equals: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func `writing an object is signed as in Amazon's example`() {
        var request = S3Request("PUT", "/test%24file.text")
        request.headers = [("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")]
        request.body = Array("Welcome to Amazon S3.".utf8)
        expect(signature(of: request), equals: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func `listing objects is signed as in Amazon's example`() {
        var request = S3Request("GET", "/")
        request.query = [("prefix", "J"), ("max-keys", "2")]
        expect(request.canonicalQuery, equals: "max-keys=2&prefix=J")
        expect(signature(of: request), equals: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test func `a query is sent exactly as it is signed`() {
        var request = S3Request("GET", "/")
        request.query = [("start-after", "a b/ä&+~"), ("list-type", "2")]
        expect(request.canonicalQuery, equals: "list-type=2&start-after=a%20b%2F%C3%A4%26%2B~")
    }

    @Test func `a listing has the keys, their times, and whether more follow`() {
        let page = """
            <?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>pictures</Name><Prefix>a</Prefix>
            <MaxKeys>2</MaxKeys><IsTruncated>true</IsTruncated>
            <Contents><Key>a&amp;lt;b</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified><Size>1</Size></Contents>
            <Contents><Key>ab.jpg</Key><LastModified>2013-05-24T00:01:00Z</LastModified></Contents></ListBucketResult>
            """
        let listing = S3Listing(Array(page.utf8))
        expect(
            listing?.entries,
            equals: [
                .init(key: "a&lt;b", modified: Self.time), .init(key: "ab.jpg", modified: Self.time + 60),
            ])
        expect(listing?.isMore, equals: true)
        expect(S3Listing.seconds(date: "Fri, 24 May 2013 00:00:00 GMT"), equals: Self.time)
    }

    @Test(arguments: [
        "", "<Error><Code>AccessDenied</Code></Error>", "<ListBucketResult><IsTruncated>false</IsTruncated>",
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key></ListBucketResult>",
    ])
    func `an incomplete listing is rejected`(_ text: String) { expect(S3Listing(Array(text.utf8)) == nil) }
}

import Foundation
import Installation
import Passwords
import PresenceCore

/// A request to S3-compatible storage, before it is signed.
struct S3Request: Sendable {
    let method: String
    /// The path as it is sent; it must need no percent-encoding.
    let path: String
    var query: [(name: String, value: String)] = []
    /// Their names are in lower case.
    var headers: [(name: String, value: String)] = []
    var body: [UInt8]?

    init(_ method: String, _ path: String) {
        self.method = method
        self.path = path
    }

    /// The query in the order that the signature requires, in which it is also sent.
    var canonicalQuery: String {
        query.map { (Self.encoded($0.name), Self.encoded($0.value)) }.sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    /// RFC 3986, 2.3: percent-encodes all bytes but the unreserved ones.
    private static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default: encoded += "%" + [byte].hexadecimal.uppercased()
            }
        }
        return encoded
    }
}

/// Signs requests with AWS Signature Version 4. The signature is in the header `Authorization` and covers the whole body.
/// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
struct S3Signer: Sendable {
    private let accessKey: String
    private let region: String
    /// No log and no error contains the key, because nothing prints this value.
    private let secretKey: String

    private static let algorithm = "AWS4-HMAC-SHA256"

    init(accessKey: String, secretKey: String, region: String) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.region = region
    }

    /// - Throws: The invalid setting or file, with a reason that contains nothing of the key.
    init(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        let (region, accessKey) = (configuration[S3Bucket.region], configuration[S3Bucket.accessKey])
        guard (1...64).contains(region.utf8.count),
            region.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"/,".utf8.contains($0) })
        else { throw .of(S3Bucket.region, "must be a region's name, such as eu-central-1") }
        guard (1...128).contains(accessKey.utf8.count),
            accessKey.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"/,".utf8.contains($0) })
        else { throw .of(S3Bucket.accessKey, "must be the name of an access key") }
        let file = configuration[S3Bucket.secretKeyFile]
        let secretKey: String
        do throws(StartFailure) {
            secretKey = String(decoding: try PlainFile.read(file), as: UTF8.self)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        } catch {
            throw .of(S3Bucket.secretKeyFile, file.isEmpty ? "must be set" : error.message)
        }
        guard !PlainFile.isExposed(file) else {
            throw .of(
                S3Bucket.secretKeyFile, "\(file) can be read by every user of this machine: chmod 600 is needed")
        }
        guard (1...512).contains(secretKey.utf8.count), secretKey.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .of(S3Bucket.secretKeyFile, "\(file) must contain only the secret key")
        }
        self.init(accessKey: accessKey, secretKey: secretKey, region: region)
    }

    /// Returns the headers to send with a request, except `Host`.
    ///
    /// - Parameters:
    ///   - host: In the form of the header `Host`.
    ///   - seconds: The time since 1970. Storage refuses requests that are off by more than a quarter of an hour.
    func headers(of request: S3Request, to host: String, at seconds: Int64) -> [(name: String, value: String)] {
        let (stamp, payload) = (Self.stamp(seconds), Sodium.sha256(request.body ?? []).hexadecimal)
        let sent = request.headers + [("x-amz-content-sha256", payload), ("x-amz-date", stamp)]
        let signed = (sent + [("host", host)]).sorted { $0.name < $1.name }
        let names = signed.map(\.name).joined(separator: ";")
        let lines =
            [request.method, request.path, request.canonicalQuery] + signed.map { "\($0.name):\($0.value)" }
            + ["", names, payload]
        let scope = "\(stamp.prefix(8))/\(region)/s3/aws4_request"
        let digest = Sodium.sha256(Array(lines.joined(separator: "\n").utf8)).hexadecimal
        let text = [Self.algorithm, stamp, scope, digest].joined(separator: "\n")
        let signature = Sodium.hmac(Array(text.utf8), key: key(for: scope)).hexadecimal
        let value = "\(Self.algorithm) Credential=\(accessKey)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
        return sent + [("authorization", value)]
    }

    /// The key for a day, region and service: each part of the scope is hashed with the key made from the part before.
    private func key(for scope: String) -> [UInt8] {
        scope.split(separator: "/").reduce(Array("AWS4\(secretKey)".utf8)) { key, part in
            Sodium.hmac(Array(part.utf8), key: key)
        }
    }

    /// A time as in `20130524T000000Z`.
    private static func stamp(_ seconds: Int64) -> String {
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
            + "T\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
    }
}

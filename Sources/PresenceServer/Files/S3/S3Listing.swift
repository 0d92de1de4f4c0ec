import Foundation

/// A page of a bucket's listing (`ListObjectsV2`). Only the needed elements of the XML are read.
struct S3Listing: Sendable {
    struct Entry: Sendable, Equatable {
        let key: String
        /// In seconds since 1970, by the storage's clock.
        let modified: Int64
    }

    let entries: [Entry]
    let isMore: Bool

    /// `nil` if it is not a listing.
    init?(_ body: [UInt8]) {
        let text = String(decoding: body, as: UTF8.self)
        guard text.contains("<ListBucketResult"), text.contains("</ListBucketResult>"),
            let isTruncated = Self.value("IsTruncated", of: text[...])
        else { return nil }
        isMore = isTruncated == "true"
        var entries: [Entry] = []
        var rest = text[...]
        while let begin = rest.range(of: "<Contents>") {
            rest = rest[begin.upperBound...]
            guard let end = rest.range(of: "</Contents>") else { return nil }
            let entry = rest[..<end.lowerBound]
            rest = rest[end.upperBound...]
            guard let key = Self.value("Key", of: entry),
                let modified = Self.value("LastModified", of: entry).flatMap({ Self.seconds(stamp: $0) })
            else { return nil }
            entries.append(Entry(key: Self.decoded(key), modified: modified))
        }
        self.entries = entries
    }

    /// The content of the first element of this name.
    static func value(_ name: String, of text: Substring) -> String? {
        guard let begin = text.range(of: "<\(name)>"),
            let end = text[begin.upperBound...].range(of: "</\(name)>")
        else { return nil }
        return String(text[begin.upperBound..<end.lowerBound])
    }

    private static func decoded(_ text: String) -> String {
        guard text.contains("&") else { return text }
        return [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")].reduce(text) {
            $0.replacing($1.0, with: $1.1)
        }
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses the header `Date`, as in `Fri, 24 May 2013 00:00:00 GMT`, to seconds since 1970.
    static func seconds(date: String) -> Int64? {
        let words = date.split { " ,:".contains($0) }
        guard words.count == 8, words[7] == "GMT", let month = months.firstIndex(of: String(words[2])) else {
            return nil
        }
        return seconds([Int32(words[3]), Int32(month + 1), Int32(words[1])] + words[4..<7].map { Int32($0) })
    }

    /// Parses a time as in `2013-05-24T00:00:00.000Z` to seconds since 1970; fractions are dropped.
    private static func seconds(stamp: String) -> Int64? {
        guard stamp.last == "Z" else { return nil }
        let words = stamp.split { "-T:.Z".contains($0) }
        return words.count < 6 ? nil : seconds(words[..<6].map { Int32($0) })
    }

    /// - Parameter parts: Year, month, day, hour, minute, second, in UTC.
    private static func seconds(_ parts: [Int32?]) -> Int64? {
        let numbers = parts.compactMap(\.self)
        guard numbers.count == 6, (1970...9999).contains(numbers[0]) else { return nil }
        var time = tm()
        (time.tm_year, time.tm_mon, time.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (time.tm_hour, time.tm_min, time.tm_sec) = (numbers[3], numbers[4], numbers[5])
        return Int64(timegm(&time))
    }
}

import WebSockets

/// How something is served: its type, caching, and validator.
package struct HTTPContent: Sendable {
    /// `Content-Type`. Browsers must not guess another (`nosniff`).
    package var type: String
    /// `Cache-Control`, for instance `private, max-age=31536000, immutable`.
    package var cacheControl: String
    /// Changes when the content changes; without quotes, printable ASCII. `nil`: for a file, derived from its size and
    /// time; for bytes, no tag.
    package var tag: String?
    /// `Content-Disposition`, for content that browsers should not show: `attachment; filename="a.pdf"`. `nil` for none.
    package var disposition: String?
    /// Headers in addition to those of every response with content.
    package var headers: [(name: String, value: String)] = []

    package init(type: String, cacheControl: String, tag: String? = nil, disposition: String? = nil) {
        self.type = type
        self.cacheControl = cacheControl
        self.tag = tag
        self.disposition = disposition
    }

    /// The head of a response with the content.
    ///
    /// - Parameters:
    ///   - length: The length of the whole content, in bytes.
    ///   - modified: In seconds since 1970; `nil` if unknown.
    func response(_ selection: HTTPSelection, length: Int, tag: String?, modified: Int64?) -> HTTPResponse {
        var headers = [("Cache-Control", cacheControl), ("X-Content-Type-Options", "nosniff")]
        if let tag { headers.append(("ETag", "\"\(tag)\"")) }
        if let modified { headers.append(("Last-Modified", HTTPDate.text(modified))) }
        headers += self.headers.map { ($0.name, $0.value) }
        if let disposition { headers.append(("Content-Disposition", disposition)) }
        switch selection {
        case .notModified: return HTTPResponse(status: 304, headers: headers)
        case .conditionFailed: return HTTPResponse(status: 412, headers: headers)
        case .unsatisfiable:
            return HTTPResponse(status: 416, headers: headers + [("Content-Range", "bytes */\(length)")])
        case .part(let range):
            let part = ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)")
            return HTTPResponse(status: 206, headers: headers + [("Content-Type", type), part])
        case .whole:
            return HTTPResponse(status: 200, headers: headers + [("Content-Type", type), ("Accept-Ranges", "bytes")])
        }
    }
}

/// The part of a content to send, or the status instead.
enum HTTPSelection: Sendable, Equatable {
    case whole
    case part(Range<Int>)
    /// 304.
    case notModified
    /// 412.
    case conditionFailed
    /// 416.
    case unsatisfiable

    /// The selected bytes of a content of this length.
    func range(of length: Int) -> Range<Int> {
        switch self {
        case .whole: 0..<length
        case .part(let range): range
        case .notModified, .conditionFailed, .unsatisfiable: 0..<0
        }
    }
}

/// The conditions and range in a reading request (RFC 9110, 13 and 14).
struct HTTPConditions: Sendable {
    private let ifMatch: String?
    private let ifUnmodifiedSince: String?
    private let ifNoneMatch: String?
    private let ifModifiedSince: String?
    private let range: String?
    private let ifRange: String?

    init(_ request: HTTPRequest) {
        let headers = request.headers
        ifMatch = headers["if-match"]
        ifUnmodifiedSince = headers["if-unmodified-since"]
        ifNoneMatch = headers["if-none-match"]
        ifModifiedSince = headers["if-modified-since"]
        // Defined for GET alone (14.2).
        range = request.method == "GET" ? headers["range"] : nil
        ifRange = headers["if-range"]
    }

    /// Evaluates the conditions in the order of RFC 9110, 13.2.2.
    ///
    /// - Parameters:
    ///   - length: The length of the whole content, in bytes.
    ///   - tag: Without quotes.
    ///   - modified: In seconds since 1970.
    func selection(length: Int, tag: String?, modified: Int64?) -> HTTPSelection {
        let date = modified.map(HTTPDate.text)
        if let ifMatch {
            guard Self.list(ifMatch, has: tag, weakly: false) else { return .conditionFailed }
        } else if let ifUnmodifiedSince, let modified, let since = HTTPDate.seconds(ifUnmodifiedSince),
            modified > since
        {
            return .conditionFailed
        }
        if let ifNoneMatch {
            if Self.list(ifNoneMatch, has: tag, weakly: true) { return .notModified }
        } else if let ifModifiedSince, ifModifiedSince == date {
            // Like nginx: only the exact time that was sent.
            return .notModified
        }
        guard let range else { return .whole }
        if let ifRange, ifRange != tag.map({ "\"\($0)\"" }), ifRange != date { return .whole }
        return Self.selection(range, of: length)
    }

    /// - Parameter weakly: A tag with `W/`, as for a compressed response, matches too.
    private static func list(_ list: String, has tag: String?, weakly: Bool) -> Bool {
        list.split(separator: ",").contains { element in
            var element = element.drop { $0 == " " || $0 == "\t" }
            while element.last == " " || element.last == "\t" { element.removeLast() }
            if element == "*" { return true }
            guard let tag else { return false }
            return (weakly && element.hasPrefix("W/") ? element.dropFirst(2) : element) == "\"\(tag)\""
        }
    }

    /// Parses one range of bytes. Several ranges and invalid ones are ignored: sending the whole content is always
    /// allowed (14.2).
    private static func selection(_ range: String, of length: Int) -> HTTPSelection {
        guard range.lowercased().hasPrefix("bytes="), !range.contains(",") else { return .whole }
        let ends = range.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { 48...57 ~= $0 } }) else { return .whole }
        // (A number that overflows Int is beyond every content.)
        let (first, last) = (number(ends[0]), number(ends[1]))
        switch (first, last) {
        case (nil, nil): return .whole
        case (nil, let count?):
            guard count > 0, length > 0 else { return .unsatisfiable }
            return .part(max(0, length - count)..<length)
        case (let first?, let last):
            if let last, last < first { return .whole }
            guard first < length else { return .unsatisfiable }
            return .part(first..<min(last ?? .max, length - 1) + 1)
        }
    }

    private static func number(_ digits: Substring) -> Int? { digits.isEmpty ? nil : Int(digits) ?? .max }
}

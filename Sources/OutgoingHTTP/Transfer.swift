import CCurl
import EventLoops
import Glibc

/// One transfer of libcurl, with libcurl's callbacks and the outcome.
///
/// Confined to the client's thread, which keeps it until libcurl has released it. So libcurl's unretained pointers to
/// it are valid as long as libcurl calls back.
final class Transfer {
    let entry: TransferQueue.Entry
    /// Owned; freed by `free`.
    let easy: UnsafeMutableRawPointer
    /// Lists that libcurl does not copy. Owned; freed by `free`.
    var lists: [UnsafeMutablePointer<curl_slist>] = []
    /// Bytes of a mail sent so far: libcurl reads them from here. (It copies the body of a call.)
    private var sent = 0
    private var headers: [(String, String)] = []
    private var headerBytes = 0
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var isForbidden = false
    /// The reason why a callback aborted the transfer.
    private var brokenOff: OutgoingFailure?
    /// For a mail: duplicates of its sockets. They refer to the same connections even after libcurl has closed its own
    /// descriptors. Owned; closed by `free`.
    private var sockets: [Int32] = []
    /// For a mail: the number of complete replies, and the lines of the last one.
    private var replies = 0
    private var reply: [String] = []
    private var isReplyWhole = true
    /// The number of 250 replies since the server's greeting, or since TLS began. The first such reply accepts the
    /// client's name, the second accepts the sender.
    private var agreed = 0
    private let queue: TransferQueue

    /// Room for a server's headers, those of "100 Continue" included.
    private static let mostHeaderBytes = 65_536

    /// `nil` if libcurl rejects an option.
    init?(_ entry: TransferQueue.Entry, of queue: TransferQueue, userAgent: String?, now: Int64) {
        guard let easy = curl_easy_init() else { return nil }
        self.entry = entry
        self.queue = queue
        self.easy = easy
        var options = CurlOptions(easy)
        options.set(entry.order, left: max(1, (entry.end - now) / 1_000), userAgent: userAgent)
        lists = options.lists
        // Unretained: see the type.
        let me = Unmanaged.passUnretained(self).toOpaque()
        options.check(ccurl_set_pointer(easy, CURLOPT_WRITEDATA, me))
        options.check(ccurl_set_bytes_function(easy, CURLOPT_WRITEFUNCTION) { Transfer.of($3).receive($0, $1 * $2) })
        options.check(ccurl_set_pointer(easy, CURLOPT_HEADERDATA, me))
        options.check(
            ccurl_set_bytes_function(easy, CURLOPT_HEADERFUNCTION) { Transfer.of($3).receiveHeader($0, $1 * $2) })
        options.check(ccurl_set_pointer(easy, CURLOPT_READDATA, me))
        options.check(ccurl_set_bytes_function(easy, CURLOPT_READFUNCTION) { Transfer.of($3).sendPart($0, $1 * $2) })
        options.check(ccurl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, me))
        options.check(ccurl_set_socket_function(easy) { Transfer.of($0).open($2!) })
        options.check(ccurl_set_pointer(easy, CURLOPT_PREREQDATA, me))
        options.check(
            ccurl_set_prerequest_function(easy) { data, address, _, _, _ in Transfer.of(data).checkAddress(address) })
        if case .mail = entry.order.kind {
            options.check(ccurl_set_pointer(easy, CURLOPT_XFERINFODATA, me))
            options.check(ccurl_set_progress_function(easy) { data, _, _, _, _ in Transfer.of(data).goesOn() })
            options.check(ccurl_set_long(easy, CURLOPT_NOPROGRESS, 0))
        }
        guard options.isTaken else {
            free()
            return nil
        }
    }

    // Unretained: see the type.
    private static func of(_ data: UnsafeMutableRawPointer?) -> Transfer {
        Unmanaged<Transfer>.fromOpaque(data!).takeUnretainedValue()
    }

    /// Ends a mail's connection without libcurl. libcurl would send QUIT, now or later, and wait up to two minutes for
    /// the reply, which would block all mails. On an ended connection QUIT fails immediately.
    func hangUp() {
        for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// Called once, after libcurl's multi handle has released the transfer.
    func free() {
        curl_easy_cleanup(easy)
        for list in lists { curl_slist_free_all(list) }
        lists = []
        for socket in sockets { close(socket) }
        sockets = []
    }

    // MARK: Callbacks of libcurl

    /// Returning fewer bytes than arrived ends the transfer.
    private func receive(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard count > 0, let bytes else { return count }
        guard body.count + count <= entry.order.limits.responseBytes else {
            isTooLarge = true
            return 0
        }
        body += UnsafeRawBufferPointer(start: bytes, count: count)
        return count
    }

    private func receiveHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard count > 0, let bytes else { return count }
        headerBytes += count
        guard headerBytes <= Self.mostHeaderBytes else {
            isTooLarge = true
            return 0
        }
        guard case .call = entry.order.kind else {
            receiveReply(UnsafeRawBufferPointer(start: bytes, count: count))
            return count
        }
        let line = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // A new response: the headers so far were those of "100 Continue".
            headers = []
        } else if let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) {
            let value = line[line.index(after: colon)...].drop(while: Self.isBlank)
            let length = value.reversed().drop(while: Self.isBlank).count
            headers.append((line[..<colon].lowercased(), String(value.prefix(length))))
        }
        return count
    }

    /// Handles a line of a mail server. A rejection ends the mail. libcurl would send QUIT within the same call, so the
    /// connection is ended before that. The exception: a server that rejects EHLO (its second reply) may still accept
    /// HELO.
    private func receiveReply(_ line: UnsafeRawBufferPointer) {
        if isReplyWhole { reply = [] }
        reply.append(String(decoding: line, as: UTF8.self))
        isReplyWhole = line.count > 3 && line[3] != UInt8(ascii: "-")
        guard line.count > 3, line[3] == UInt8(ascii: " ") else { return }
        replies += 1
        switch reply[reply.count - 1].prefix(3) {
        case "220": agreed = 0
        case "250": agreed += 1
        default: break
        }
        if line[0] == UInt8(ascii: "4") || line[0] == UInt8(ascii: "5"), replies != 2 { hangUp() }
    }

    /// libcurl calls this each second while it waits for a mail server's reply; 0 means continue.
    private func goesOn() -> Int32 {
        if brokenOff == nil { brokenOff = queue.reasonToEnd(entry, now: MonotonicClock.microseconds) }
        guard brokenOff != nil else { return 0 }
        hangUp()
        return 1
    }

    private static func isBlank(_ character: Character) -> Bool {
        character == " " || character == "\t" || character.isNewline
    }

    private func sendPart(_ room: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard case .mail(let mail) = entry.order.kind, let room else { return 0 }
        let part = mail.message[sent..<min(mail.message.count, sent + count)]
        part.withUnsafeBytes {
            UnsafeMutableRawPointer(room).copyMemory(from: $0.baseAddress ?? .init(room), byteCount: $0.count)
        }
        sent += part.count
        return part.count
    }

    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        if entry.order.destinations == .publicOnly {
            let length = Int(address.pointee.addrlen)
            let isPrivate = withUnsafePointer(to: &address.pointee.addr) {
                PrivateAddresses.contain($0, length: length)
            }
            if isPrivate {
                isForbidden = true
                return -1
            }
        }
        let socket = ccurl_socket(address)
        if socket >= 0, case .mail = entry.order.kind {
            let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
            // Without the copy, the connection could not be ended later.
            guard copy >= 0 else {
                close(socket)
                return -1
            }
            sockets.append(copy)
        }
        return socket
    }

    /// The connection is established, possibly by an earlier transfer that had other destinations.
    private func checkAddress(_ address: UnsafeMutablePointer<CChar>?) -> Int32 {
        guard entry.order.destinations == .publicOnly else { return CURL_PREREQFUNC_OK }
        guard let address, !PrivateAddresses.contain(String(cString: address)) else {
            isForbidden = true
            return CURL_PREREQFUNC_ABORT
        }
        return CURL_PREREQFUNC_OK
    }

    // MARK: The end

    func result(_ code: CURLcode) -> Result<OutgoingResponse, OutgoingFailure> {
        let status = ccurl_get_long(easy, CURLINFO_RESPONSE_CODE)
        guard code == CURLE_OK else { return .failure(failure(code, status)) }
        let version = ccurl_get_long(easy, CURLINFO_HTTP_VERSION)
        return .success(
            OutgoingResponse(
                status: status, headers: headers, body: body, isHTTP2: version == Int(CURL_HTTP_VERSION_2_0)))
    }

    private func failure(_ code: CURLcode, _ status: Int) -> OutgoingFailure {
        if isTooLarge { return .tooLarge }
        if let brokenOff { return brokenOff }
        if isForbidden { return .forbidden }
        if let failure = OutgoingFailure.ofConnection(code) { return failure }
        if code == CURLE_FILESIZE_EXCEEDED { return .tooLarge }
        // For a call, only credentials in its URL can cause this error.
        if case .call = entry.order.kind, code == CURLE_LOGIN_DENIED { return .invalid("the URL names a user") }
        if case .mail(let mail) = entry.order.kind, status >= 400 || code == CURLE_LOGIN_DENIED {
            return .rejected(MailRefusal(code: status, lines: reply, of: mail, isOfMail: agreed > 1))
        }
        switch code {
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_WEIRD_SERVER_REPLY,
            // The scheme was checked before: this is a response that is not HTTP.
            CURLE_UNSUPPORTED_PROTOCOL, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR:
            return .broken
        default: return .other(code.rawValue)
        }
    }
}

import CCurl

/// Sets libcurl's options for a transfer, and records whether it accepted all of them.
struct CurlOptions {
    private let easy: UnsafeMutableRawPointer
    private(set) var isTaken = true
    /// Lists that libcurl does not copy. The transfer owns them.
    private(set) var lists: [UnsafeMutablePointer<curl_slist>] = []

    init(_ easy: UnsafeMutableRawPointer) { self.easy = easy }

    mutating func check(_ code: CURLcode) { if code != CURLE_OK { isTaken = false } }

    private mutating func set(_ option: CURLoption, _ value: Int) { check(ccurl_set_long(easy, option, value)) }
    private mutating func set(_ option: CURLoption, _ value: String) { check(ccurl_set_text(easy, option, value)) }

    private mutating func set(_ option: CURLoption, _ values: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for value in values {
            guard let longer = curl_slist_append(list, value) else {
                isTaken = false
                break
            }
            list = longer
        }
        guard let list else { return }
        lists.append(list)
        check(ccurl_set_pointer(easy, option, list))
    }

    /// - Parameter left: ms that the transfer may take.
    mutating func set(_ order: TransferOrder, left: Int64, userAgent: String?) {
        set(CURLOPT_URL, order.url)
        // Signals belong to the process. Without signals, libcurl's resolver threads report their end in another way.
        set(CURLOPT_NOSIGNAL, 1)
        // A transfer that ends does not wait for a hanging resolver thread.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        // No proxy, not even from the environment.
        set(CURLOPT_PROXY, "")
        set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        set(CURLOPT_TIMEOUT_MS, Int(left))
        set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, order.limits.connecting * 1_000)))
        check(ccurl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(max(1, order.limits.responseBytes))))
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let file = order.tls.authorities {
            set(CURLOPT_CAINFO, file)
            check(ccurl_set_text(easy, CURLOPT_CAPATH, nil))
        }
        switch order.kind {
        case .call(let request): set(request, userAgent)
        case .mail(let mail): set(mail)
        }
    }

    private mutating func set(_ request: OutgoingRequest, _ userAgent: String?) {
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        if let userAgent { set(CURLOPT_USERAGENT, userAgent) }
        set(CURLOPT_HTTP_VERSION, Int(request.offersHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1))
        // Shares an existing connection rather than opening another.
        if request.offersHTTP2 { set(CURLOPT_PIPEWAIT, 1) }
        // "Expect: 100-continue" would cost a second with a server that does not answer it.
        set(
            CURLOPT_HTTPHEADER,
            request.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" } + ["Expect:"])
        switch (request.method, request.body) {
        case ("GET", nil): set(CURLOPT_HTTPGET, 1)
        case ("HEAD", nil): set(CURLOPT_NOBODY, 1)
        case (let method, let body?):
            // libcurl copies the body.
            check(ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
            body.withUnsafeBytes { bytes in
                check(
                    ccurl_set_pointer(
                        easy, CURLOPT_COPYPOSTFIELDS, .init(mutating: bytes.baseAddress ?? UnsafeRawPointer(easy))))
            }
            set(CURLOPT_CUSTOMREQUEST, method)
        case (let method, nil): set(CURLOPT_CUSTOMREQUEST, method)
        }
    }

    private mutating func set(_ mail: OutgoingMail) {
        set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        set(CURLOPT_USE_SSL, Int(mail.startTLS == .required ? CURLUSESSL_ALL.rawValue : CURLUSESSL_NONE.rawValue))
        set(CURLOPT_MAIL_FROM, "<\(mail.sender)>")
        set(CURLOPT_MAIL_RCPT, mail.recipients.map { "<\($0)>" })
        if let credentials = mail.credentials {
            set(CURLOPT_USERNAME, credentials.user)
            set(CURLOPT_PASSWORD, credentials.password)
        }
        set(CURLOPT_UPLOAD, 1)
        check(ccurl_set_size(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(mail.message.count)))
    }
}

import CLibEV
import CLibWebSockets
import EventLoops
import Glibc

/// libwebsockets as a whole: its log, and the creation of contexts.
public enum LibWebSockets {
    private static let log = Locked<(@Sendable (String) -> Void)?>(nil)
    /// Locked while a context is made, which may log.
    private static let making = Locked<Void>(())

    /// Sets the handler for libwebsockets' log, line by line. Only errors are logged, since on lower levels
    /// libwebsockets logs every change of its events. Any loop's thread may call the handler. Without a handler the
    /// lines are dropped.
    public static func onError(_ handler: @escaping @Sendable (String) -> Void) {
        log.withLock { $0 = handler }
    }

    /// The type of libwebsockets' callbacks, as Swift imports it outside a struct.
    typealias Callback =
        @convention(c) (
            OpaquePointer?, lws_callback_reasons, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int
        ) -> Int32

    /// The role of a context's connections in TLS.
    enum TLS: Equatable {
        case none
        /// Connections of a server, whose SSL_CTX `callback` is asked to prepare.
        case serves
        /// Connections of clients, which trust the authorities in a PEM file; nil for the system's.
        case dials(authorities: String?)
    }

    /// The settings in which our contexts differ.
    struct ContextSetting {
        var subprotocols: [String]
        var receiveBuffer: Int
        var maxHeaderBytes: UInt16
        var headerPool: UInt32
        var timeoutSeconds: UInt32
        /// The size of the buffer in which handshakes are made and bytes are received; 0 for 4096 bytes.
        var serviceBuffer: UInt32 = 0
        var tls = TLS.none
        /// Returned by `lws_context_user`; the caller keeps it alive.
        var user: UnsafeMutableRawPointer
        var callback: Callback
    }

    /// One libwebsockets context on one loop, with its memory. Confined to the loop's thread.
    final class Context {
        let raw: OpaquePointer
        /// The virtual host of its connections.
        let host: OpaquePointer
        private let memory: ContextMemory
        private var heartbeat: LoopTimer?
        private let loop: EventLoop

        /// - Throws: `WebSocketError.noContext`.
        init(on loop: EventLoop, _ setting: ContextSetting) throws {
            let memory = try ContextMemory(loop: loop, setting)
            // Making a context also initialises process-wide state (the log), so only one is made at a time. No
            // process-wide state is initialised before the first context needs it.
            let made = making.withLock { _ in
                lws_set_log_level(LLL_ERR, { _, line in LibWebSockets.emit(line) })
                return memory.makeContext(loop: loop, setting)
            }
            guard let made else {
                memory.free()
                throw WebSocketError.noContext
            }
            raw = made.context
            host = made.host
            self.memory = memory
            self.loop = loop
            beat()
        }

        /// Closes all remaining connections, with all callbacks, and frees the context. Must not be called inside a
        /// callback.
        func destroy() {
            heartbeat?.cancel()
            heartbeat = nil
            lws_context_destroy(raw)
            memory.free()
        }

        /// The libev plugin re-arms its timer wrongly, so libwebsockets' own timers fire late or never on an idle loop.
        /// Waking it twice a second cures that.
        private func beat() {
            let context = raw
            let timer = LoopTimer(loop) { [weak self] in
                lws_cancel_service(context)
                self?.heartbeat?.set(after: 500)
            }
            timer.set(after: 500)
            heartbeat = timer
        }

        /// Carries a new context out of the lock.
        // @unchecked: no other code has it yet.
        fileprivate struct Made: @unchecked Sendable {
            let context: OpaquePointer
            let host: OpaquePointer
        }
    }

    private static func emit(_ line: UnsafePointer<CChar>?) {
        // 4.1.6 logs each connection that is adopted with bytes as an error (`adopt_socket_readbuf`).
        guard let line, strstr(line, "adopt_socket_readbuf: calling service") == nil else { return }
        // A dump begins with an empty line.
        let text = String(cString: line).filter { !$0.isNewline }
        guard text.contains(where: { $0 != " " }), let handler = log.withLock({ $0 }) else { return }
        handler(text)
    }
}

/// The reason why a server or a client could not be made.
public enum WebSocketError: Error, CustomStringConvertible {
    /// libwebsockets made no context: most likely its libev plugin is missing.
    case noContext

    /// The authorities that a client should trust cannot be read.
    case noAuthorities(file: String)

    public var description: String {
        switch self {
        case .noContext: "libwebsockets could not be started: is its libev plugin (libwebsockets-evlib-ev) installed?"
        case .noAuthorities(let file): "no certificate authorities can be read from \(file)"
        }
    }
}

/// Memory that a context refers to during its life; the context's owner frees it after the context.
private final class ContextMemory {
    private let names: [UnsafeMutablePointer<CChar>]
    private let protocols: UnsafeMutablePointer<lws_protocols>
    private let loops: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private let retry: UnsafeMutablePointer<lws_retry_bo_t>
    private let alpn: UnsafeMutablePointer<CChar>
    private let hostName: UnsafeMutablePointer<CChar>
    /// The TLS context of the clients. Owned: libwebsockets frees only TLS contexts that it has made.
    private let dialling: OpaquePointer?

    init(loop: EventLoop, _ setting: LibWebSockets.ContextSetting) throws(WebSocketError) {
        switch setting.tls {
        case .none: dialling = nil
        case .serves: dialling = clws_dialling_make(nil, false)
        case .dials(let authorities):
            dialling = clws_dialling_make(authorities, true)
            guard dialling != nil else { throw .noAuthorities(file: authorities ?? "the system's store") }
        }
        names = (setting.subprotocols.isEmpty ? [""] : setting.subprotocols).map { strdup($0) }
        protocols = .allocate(capacity: names.count + 1)
        for (index, name) in names.enumerated() {
            var entry = lws_protocols()
            entry.name = UnsafePointer(name)
            entry.callback = setting.callback
            // Without any, libwebsockets does not report when it begins to close a connection.
            entry.per_session_data_size = 1
            // With 256 an idle connection costs 1.7 KB, with 4096 or 0 (the default) 6.1 KB.
            entry.rx_buffer_size = setting.receiveBuffer
            // The limit for sending one write at once; libwebsockets would copy the rest. Its default is
            // rx_buffer_size.
            entry.tx_packet_size = 1 << 20
            (protocols + index).initialize(to: entry)
        }
        (protocols + names.count).initialize(to: lws_protocols())
        loops = .allocate(capacity: 1)
        loops.initialize(to: UnsafeMutableRawPointer(loop.raw))
        // All zero: no validity timers, which libwebsockets keeps in a sorted list of all connections.
        retry = .allocate(capacity: 1)
        retry.initialize(to: lws_retry_bo_t())
        alpn = strdup("http/1.1")
        hostName = strdup("host")
    }

    /// Makes a context with one virtual host.
    ///
    /// TLS is requested for the host and not for the context. For each context with TLS, libwebsockets 4.1.6 allocates
    /// a new index, in a variable of the process. Under that index it then looks up data that it stored, with every
    /// open connection of earlier contexts, under an older index. It finds nothing, and their handshakes fail. OpenSSL
    /// (since 1.1) needs no initialisation, and the variable's first value, 0, is reserved for applications.
    func makeContext(loop: EventLoop, _ setting: LibWebSockets.ContextSetting) -> LibWebSockets.Context.Made? {
        var info = info(loop: loop, setting)
        info.options |= UInt64(LWS_SERVER_OPTION_EXPLICIT_VHOSTS)
        guard let context = lws_create_context(&info) else { return nil }
        info.vhost_name = UnsafePointer(hostName)
        switch setting.tls {
        case .none: break
        case .serves:
            info.port = CONTEXT_PORT_NO_LISTEN_SERVER
            info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX)
        case .dials: info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
        }
        guard let host = lws_create_vhost(context, &info) else {
            lws_context_destroy(context)
            return nil
        }
        return .init(context: context, host: host)
    }

    private func info(loop: EventLoop, _ setting: LibWebSockets.ContextSetting) -> lws_context_creation_info {
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN
        info.protocols = UnsafePointer(protocols)
        info.foreign_loops = loops
        info.retry_and_idle_policy = UnsafePointer(retry)
        // Raw writes would break WebSocket over HTTP/2.
        info.alpn = UnsafePointer(alpn)
        info.options = UInt64(LWS_SERVER_OPTION_LIBEV)
        info.max_http_header_data = setting.maxHeaderBytes
        info.max_http_header_pool2 = setting.headerPool
        info.timeout_secs = setting.timeoutSeconds
        info.timeout_secs_ah_idle = setting.timeoutSeconds
        info.keepalive_timeout = Int32(setting.timeoutSeconds)
        info.pt_serv_buf_size = setting.serviceBuffer
        info.provided_client_ssl_ctx = dialling
        info.user = setting.user
        return info
    }

    func free() {
        for name in names { Glibc.free(name) }
        protocols.deallocate()
        loops.deallocate()
        retry.deallocate()
        Glibc.free(alpn)
        Glibc.free(hostName)
        if let dialling { clws_tls_free(dialling) }
    }
}

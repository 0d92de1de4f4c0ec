#if canImport(OSLog)
    import OSLog

    extension PresenceLogger {
        /// Writes to the system's unified log. Messages are public there: they contain no tokens and no texts of users.
        public static func osLog(subsystem: String, category: String = "presence") -> PresenceLogger {
            let logger = Logger(subsystem: subsystem, category: category)
            return PresenceLogger { level, message in
                switch level {
                case .debug: logger.debug("\(message, privacy: .public)")
                case .notice: logger.notice("\(message, privacy: .public)")
                case .error: logger.error("\(message, privacy: .public)")
                }
            }
        }
    }
#endif

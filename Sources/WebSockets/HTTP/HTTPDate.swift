import Glibc

/// Times in HTTP's format (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
public enum HTTPDate {
    /// - Parameter seconds: since 1970.
    public static func text(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return
            "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }

    /// Seconds since 1970; `nil` if the text does not have that form.
    public static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        let clock = words.count == 6 ? words[4].split(separator: ":").compactMap { Int32($0) } : []
        guard clock.count == 3, let day = Int32(words[1]), let month = months.firstIndex(of: String(words[2])),
            let year = Int32(words[3]), (1970...9999).contains(year)
        else { return nil }
        var parts = tm()
        (parts.tm_mday, parts.tm_mon, parts.tm_year) = (day, Int32(month), year - 1900)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (clock[0], clock[1], clock[2])
        let seconds = Int64(timegm(&parts))
        // `timegm` accepts 25 o'clock as another time.
        return HTTPDate.text(seconds) == text ? seconds : nil
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}

/// The header `Date` of answers, made once a second. Each loop has its own.
struct DateHeader {
    private var second: Int64 = -1
    private var text = ""

    /// - Parameter now: the loop's time, in ms, which decides when to read the wall clock.
    mutating func value(now: Int64) -> String {
        if now / 1_000 != second {
            second = now / 1_000
            text = HTTPDate.text(Int64(time(nil)))
        }
        return text
    }
}

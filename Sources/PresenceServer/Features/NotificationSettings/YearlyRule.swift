/// How clocks change every year, as POSIX writes it in `TZ`: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct YearlyRule: Sendable {
    /// In seconds from UTC.
    private let standard: Int64
    private let summer: (offset: Int64, begin: Day, end: Day)?

    init?(_ text: String) {
        var rest = text[...]
        guard Self.skipName(&rest), let standard = Self.time(&rest) else { return nil }
        self.standard = -standard
        guard !rest.isEmpty else {
            summer = nil
            return
        }
        guard Self.skipName(&rest) else { return nil }
        let offset = rest.first == "," ? -standard + 3_600 : Self.time(&rest).map { -$0 }
        guard let offset, let begin = Day(&rest), let end = Day(&rest), rest.isEmpty else { return nil }
        summer = (offset, begin, end)
    }

    func offset(at time: Int64) -> Int64 {
        guard let summer else { return standard }
        let year = Date.year(of: (time + standard).dividedDown(by: 86_400))
        let begin = summer.begin.seconds(in: year) - standard
        let end = summer.end.seconds(in: year) - summer.offset
        let isSummer = begin < end ? begin <= time && time < end : !(end <= time && time < begin)
        return isSummer ? summer.offset : standard
    }

    /// Three or more letters, or anything in angle brackets.
    private static func skipName(_ rest: inout Substring) -> Bool {
        if rest.first == "<" {
            guard let end = rest.firstIndex(of: ">") else { return false }
            rest = rest[rest.index(after: end)...]
            return true
        }
        let name = rest.prefix { $0.isASCII && $0.isLetter }
        rest = rest.dropFirst(name.count)
        return name.count >= 3
    }

    /// `[+-]H[:M[:S]]` in seconds.
    private static func time(_ rest: inout Substring) -> Int64? {
        let sign: Int64 = rest.first == "-" ? -1 : 1
        if rest.first == "-" || rest.first == "+" { rest.removeFirst() }
        let text = rest.prefix { $0 == ":" || $0.isASCII && $0.isNumber }
        rest = rest.dropFirst(text.count)
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { Int64($0) }
        guard (1...3).contains(parts.count), !parts.contains(nil) else { return nil }
        let numbers = parts.compactMap(\.self) + [0, 0]
        guard numbers[0] <= 167, numbers[1] < 60, numbers[2] < 60 else { return nil }
        return sign * (numbers[0] * 3_600 + numbers[1] * 60 + numbers[2])
    }

    /// A day of each year, and the time on it.
    private struct Day: Sendable {
        private enum Kind: Sendable {
            /// The week 5 is the last one; the weekday 0 is Sunday.
            case month(Int64, week: Int64, weekday: Int64)
            /// From 1 on; 29 February does not count.
            case julian(Int64)
            /// From 0 on.
            case ordinal(Int64)
        }
        private let kind: Kind
        private let time: Int64

        /// `,DATE[/TIME]`
        init?(_ rest: inout Substring) {
            guard rest.first == "," else { return nil }
            rest.removeFirst()
            let text = rest.prefix { $0 != "," && $0 != "/" }
            rest = rest.dropFirst(text.count)
            let numbers = text.drop { $0 == "M" || $0 == "J" }.split(separator: ".").compactMap { Int64($0) }
            switch (text.first, numbers.count) {
            case ("M", 3)
            where (1...12).contains(numbers[0]) && (1...5).contains(numbers[1]) && (0...6).contains(numbers[2]):
                kind = .month(numbers[0], week: numbers[1], weekday: numbers[2])
            case ("J", 1) where (1...365).contains(numbers[0]): kind = .julian(numbers[0])
            case (_, 1) where (0...365).contains(numbers[0]): kind = .ordinal(numbers[0])
            default: return nil
            }
            guard rest.first == "/" else {
                time = 7_200
                return
            }
            rest.removeFirst()
            guard let time = YearlyRule.time(&rest) else { return nil }
            self.time = time
        }

        /// Local seconds since 1970.
        func seconds(in year: Int64) -> Int64 { date(in: year) * 86_400 + time }

        private func date(in year: Int64) -> Int64 {
            switch kind {
            case .ordinal(let number): return Date.day(of: year, 1, 1) + number
            case .julian(let number):
                let isLate = number >= 60 && Date.day(of: year, 3, 1) - Date.day(of: year, 1, 1) == 60
                return Date.day(of: year, 1, 1) + number - (isLate ? 0 : 1)
            case .month(let month, let week, let weekday):
                let first = Date.day(of: year, month, 1)
                // 1 January 1970 was a Thursday.
                var day = first + (weekday - (first + 4)).remainder(by: 7) + 7 * (week - 1)
                let next = month == 12 ? Date.day(of: year + 1, 1, 1) : Date.day(of: year, month + 1, 1)
                while day >= next { day -= 7 }
                return day
            }
        }
    }

    /// Days of the Gregorian calendar, counted from 1 January 1970, in cycles of 400 years that begin in March.
    private enum Date {
        static func day(of year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
            let year = month <= 2 ? year - 1 : year
            let cycle = year.dividedDown(by: 400)
            let ofCycle = year - cycle * 400
            let ofYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
            return cycle * 146_097 + ofCycle * 365 + ofCycle / 4 - ofCycle / 100 + ofYear - 719_468
        }

        static func year(of day: Int64) -> Int64 {
            var year = 1970 + day.dividedDown(by: 366)
            while Self.day(of: year + 1, 1, 1) <= day { year += 1 }
            return year
        }
    }
}

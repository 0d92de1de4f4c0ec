import Foundation

/// People's names, and their texts when they are busy.
enum Names {
    static let people = [
        "Alma", "Bruno", "Chloé", "Dario", "Esra", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Keiko", "Luca", "Mira",
        "Nils", "Olga", "Pablo", "Quinn", "Rosa", "Sami", "Tara", "Umut", "Vera", "Wanda", "Xavier", "Yara", "Zoë",
        "Amir", "Beatriz", "Callum", "Dalia", "Emre", "Freya", "Gustavo", "Hana", "Igor", "Júlia", "Karim", "Lotte",
        "Mateo", "Nadia", "Oskar", "Priya", "Rafael", "Saskia", "Tomás", "Ursula", "Viktor", "Wen", "Yusuf", "Zsófia",
    ]

    static let busyTexts = [
        "In a meeting", "On a call", "Deep work until lunch", "Interviewing", "Presenting", "Writing, please knock",
        "Reviewing the release", "On the phone with a customer",
    ]

    static let quietTexts = [
        "Working from home", "In the office today", "Back at 3", "Coffee first", "On the train", "Out for a run ☕️",
        "Listening to the rain", "Ask me about pandas 🐼",
    ]

    /// Additions to a person's name when they change it.
    static let additions = ["", " 🌻", " (she/her)", " (on call)", " 🎧", " (in Lisbon)", " ✈️", " 🚲"]

    /// The `index`th person's name; after the end of the list, names repeat with a number.
    static func name(_ index: Int) -> String {
        let round = index / people.count
        return people[index % people.count] + (round > 0 ? " \(round + 1)" : "")
    }

    /// A user's id made of a name: its letters and digits without accents, in lower case.
    static func id(of name: String) -> String {
        let plain = name.decomposedStringWithCanonicalMapping.lowercased().unicodeScalars
        return String(String.UnicodeScalarView(plain.filter { $0.isASCII && $0 != " " }))
    }
}

import Foundation
import Installation
import PresenceCore
import PresenceProtocol

/// What operators can set about pictures. config/presenced.yaml has each with its sentence.
extension FeatureSetting {
    static let photoFolder = text(
        "photos.folder", "", about: "Where pictures are kept; empty: the folder photos in the data directory.")
    static let photoPublicURL = text(
        "photos.publicURL", "",
        about: "What the addresses of pictures begin with; empty: the address that the server listens on.")
    static let photoSweep = duration(
        "photos.sweep", 3_600_000, in: 1_000...86_400_000,
        about: "How long it takes to look once at all files of pictures for those that belong to nobody.")

    static let photos: [FeatureSetting] = [photoFolder, photoPublicURL, photoSweep]
}

extension Photos {
    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        let base = configuration[text: .photoPublicURL]
        // Clients are told it, so it keeps their rule.
        let isGood = PhotoURL.isValid(base + "/v1/photos/x") && !base.contains("?") && !base.contains("#")
        guard base.isEmpty || isGood else {
            throw InvalidConfiguration(
                key: FeatureSetting.photoPublicURL.key,
                reason: "must be an https URL, http for loopback only, without query and fragment")
        }
        let folder = configuration[text: .photoFolder]
        guard folder.isEmpty || folder.hasPrefix("/") else {
            throw InvalidConfiguration(key: FeatureSetting.photoFolder.key, reason: "must be an absolute path")
        }
    }
}

extension ServerConfiguration {
    var photoFolder: PhotoFolder {
        let folder = self[text: .photoFolder]
        return PhotoFolder(path: folder.isEmpty ? dataPath + "/photos" : folder)
    }

    /// What the addresses of pictures begin with, without a slash at the end.
    var photoBase: String {
        let base = self[text: .photoPublicURL]
        return base.isEmpty ? publicAddress : String(base.reversed().drop { $0 == "/" }.reversed())
    }
}

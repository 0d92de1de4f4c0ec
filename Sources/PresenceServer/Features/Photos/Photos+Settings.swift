import Foundation
import Installation
import PresenceCore
import PresenceProtocol

/// The settings of pictures; config/presenced.yaml has each with its description.
extension Photos {
    static let folder = Setting<String>(
        "photos.folder", "", about: "The folder of pictures; empty: the folder photos in the data directory.")
    static let publicURL = Setting<String>(
        "photos.publicURL", "",
        about: "The beginning of pictures' addresses; empty: the address that the server listens on.")
    static let sweepTime = Setting<Milliseconds>(
        "photos.sweep", 3_600_000, in: 1_000...86_400_000,
        about: "The time in which the server checks all files of pictures once for unreferenced ones.")

    static let settings: [any AnySetting] = [folder, publicURL, sweepTime] + S3Bucket.settings.map { $0 }
}

extension S3Bucket {
    static let bucket = Setting<String>(
        "photos.s3.bucket", "",
        about: "The bucket of S3-compatible storage for pictures; empty: pictures are in the folder.")
    static let endpoint = Setting<String>(
        "photos.s3.endpoint", "", about: "The address of the storage, without the bucket.")
    static let region = Setting<String>(
        "photos.s3.region", "us-east-1", about: "The storage's region, as signatures name it.")
    static let prefix = Setting<String>(
        "photos.s3.prefix", "", about: "The beginning of all keys in the bucket.")
    static let accessKey = Setting<String>(
        "photos.s3.accessKey", "", about: "The name of the access key.")
    static let secretKeyFile = Setting<String>(
        "photos.s3.secretKeyFile", "", about: "A file with the secret of the access key, not readable by others.")
    static let publicURL = Setting<String>(
        "photos.s3.publicURL", "",
        about: "The public address of the bucket, to which this server redirects browsers. Empty: the server fetches "
            + "pictures for them.")

    static let settings = [bucket, endpoint, region, prefix, accessKey, secretKeyFile, publicURL]
}

extension Photos {
    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        let base = configuration[Photos.publicURL]
        // Addresses in profiles must be valid photo URLs.
        let isGood = PhotoURL.isValid(base + "/v1/photos/x") && !base.contains("?") && !base.contains("#")
        guard base.isEmpty || isGood else {
            throw InvalidConfiguration(
                key: Photos.publicURL.key,
                reason: "must be an https URL, http for loopback only, without query and fragment")
        }
        let folder = configuration[Photos.folder]
        guard folder.isEmpty || folder.hasPrefix("/") else {
            throw InvalidConfiguration(key: Photos.folder.key, reason: "must be an absolute path")
        }
        guard try S3Bucket.configured(configuration) == nil || folder.isEmpty else {
            throw .of(Photos.folder, "must be empty, since photos.s3.bucket is set")
        }
    }
}

extension Photos {
    static func warnings(_ configuration: ServerConfiguration) -> [String] {
        guard configuration[Accounts.enabled], !configuration.trustedProxies.isEmpty,
            configuration[Photos.publicURL].isEmpty
        else { return [] }
        return [
            "trustedProxies names a proxy and photos.publicURL is empty: pictures' addresses begin with \(configuration.photoBase), "
                + "but must begin with the proxy's"
        ]
    }
}

extension ServerConfiguration {
    var photoStore: any FileStore {
        do throws(InvalidConfiguration) {
            if let bucket = try S3Bucket.configured(self) {
                return S3Files(bucket: bucket, kinds: [.picture, .thumbnail], cacheControl: Photos.cacheControl)
            }
        } catch {
            // `Photos.check` has just accepted the same settings. Falling back to a folder would store pictures in the wrong
            // place.
            fatalError("\(error)")
        }
        let folder = self[Photos.folder]
        return FileFolder(path: folder.isEmpty ? dataPath + "/photos" : folder)
    }

    /// The scheme and host to which browsers are redirected for pictures; `nil` if this server serves them.
    var photoBucketOrigin: String? {
        let words = self[S3Bucket.publicURL].split(separator: "/", omittingEmptySubsequences: false)
        return words.count > 2 ? "\(words[0])//\(words[2])" : nil
    }

    /// The beginning of pictures' addresses, without a trailing slash.
    var photoBase: String {
        let base = self[Photos.publicURL]
        return base.isEmpty ? ownURL : String(base.reversed().drop { $0 == "/" }.reversed())
    }
}

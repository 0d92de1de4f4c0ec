import Installation
import PresenceCore
import PresenceProtocol

/// The settings of attachments; config/presenced.yaml has each with its description.
extension Attachments {
    static let enabled = Setting<Bool>(
        "attachments.enabled", false,
        about: "Whether members of a conversation can upload attachments for messages.")
    static let folder = Setting<String>(
        "attachments.folder", "",
        about: "The folder of attachments; empty: the folder attachments in the data directory, or the bucket of "
            + "photos.s3.")
    static let maxBytes = Setting<Int>(
        "attachments.maxBytes", 10 * 1_024 * 1_024, in: 1...100 * 1_024 * 1_024,
        about: "The largest size of an attachment, in bytes.")
    static let perUserPerHour = Setting<Int>(
        "attachments.perUserPerHour", 60, in: 1...100_000,
        about: "How many attachments a user may upload in an hour, through each shard.")
    static let unusedFor = Setting<Milliseconds>(
        "attachments.unusedFor", 24 * 3_600_000, in: 1_000...30 * 24 * 3_600_000,
        about: "The time after which an upload that no message mentions is removed.")
    static let sweepTime = Setting<Milliseconds>(
        "attachments.sweep", 3_600_000, in: 1_000...86_400_000,
        about: "The time in which the server checks all files of attachments once for unreferenced ones.")

    static let settings: [any AnySetting] = [enabled, folder, maxBytes, perUserPerHour, unusedFor, sweepTime]
}

extension Attachments {
    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        let folder = configuration[Attachments.folder]
        guard folder.isEmpty || folder.hasPrefix("/") else { throw .of(Attachments.folder, "must be an absolute path") }
        guard try S3Bucket.configured(configuration) == nil || folder.isEmpty else {
            throw .of(Attachments.folder, "must be empty, since photos.s3.bucket is set")
        }
        let photos = configuration[Photos.folder]
        guard folder.isEmpty || folder != photos else {
            throw .of(Attachments.folder, "must be another folder than photos.folder")
        }
    }
}

extension ServerConfiguration {
    var attachmentStore: any FileStore {
        do throws(InvalidConfiguration) {
            // Browsers are not redirected to the bucket, because its headers do not protect them from strangers' files.
            if let bucket = try S3Bucket.configured(self, folder: "attachments/", isPublic: false) {
                return S3Files(
                    bucket: bucket, kinds: StoredFile.Kind.allCases, cacheControl: Attachments.cacheControl)
            }
        } catch {
            // `Attachments.check` has just accepted the same settings. Falling back to a folder would store files in the wrong
            // place.
            fatalError("\(error)")
        }
        let folder = self[Attachments.folder]
        return FileFolder(path: folder.isEmpty ? dataPath + "/attachments" : folder)
    }
}

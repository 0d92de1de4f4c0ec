import Installation
import PresenceCore
import PresenceProtocol

/// The settings of attachments; config/presenced.yaml has each with its description.
extension FeatureSetting {
    static let attachmentsEnabled = flag(
        "attachments.enabled", false,
        about: "Whether members of a conversation can upload attachments for messages.")
    static let attachmentFolder = text(
        "attachments.folder", "",
        about: "The folder of attachments; empty: the folder attachments in the data directory, or the bucket of "
            + "photos.s3.")
    static let attachmentBytes = count(
        "attachments.maxBytes", 10 * 1_024 * 1_024, in: 1...100 * 1_024 * 1_024,
        about: "The largest size of an attachment, in bytes.")
    static let attachmentsPerHour = count(
        "attachments.perUserPerHour", 60, in: 1...100_000,
        about: "How many attachments a user may upload in an hour, through each shard.")
    static let attachmentUnused = duration(
        "attachments.unusedFor", 24 * 3_600_000, in: 1_000...30 * 24 * 3_600_000,
        about: "The time after which an upload that no message mentions is removed.")
    static let attachmentSweep = duration(
        "attachments.sweep", 3_600_000, in: 1_000...86_400_000,
        about: "The time in which the server checks all files of attachments once for unreferenced ones.")

    static let attachments: [FeatureSetting] = [
        attachmentsEnabled, attachmentFolder, attachmentBytes, attachmentsPerHour, attachmentUnused, attachmentSweep,
    ]
}

extension Attachments {
    static func check(_ configuration: ServerConfiguration) throws(InvalidConfiguration) {
        let folder = configuration[text: .attachmentFolder]
        guard folder.isEmpty || folder.hasPrefix("/") else { throw .of(.attachmentFolder, "must be an absolute path") }
        guard try S3Bucket.configured(configuration) == nil || folder.isEmpty else {
            throw .of(.attachmentFolder, "must be empty, since photos.s3.bucket is set")
        }
        let photos = configuration[text: .photoFolder]
        guard folder.isEmpty || folder != photos else {
            throw .of(.attachmentFolder, "must be another folder than photos.folder")
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
        let folder = self[text: .attachmentFolder]
        return FileFolder(path: folder.isEmpty ? dataPath + "/attachments" : folder)
    }
}

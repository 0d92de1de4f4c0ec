import PresenceCore
import PresenceProtocol

/// The settings of pushes. config/presenced.yaml has each with its sentence.
extension FeatureSetting {
    static let pushQueue = count(
        "push.queue", 100_000, in: 100...1_000_000,
        about: "How many pushes may wait for FCM, and as many for APNs, with at most 1 KiB of Redis' memory for each "
            + "of them on average. Beyond it, those of the device with most are dropped, then those whose next attempt is "
            + "furthest away.")
    static let pushAuthorities = text(
        "push.caFile", "",
        about: "The authorities that sign the certificates of FCM and APNs (PEM), for networks with a proxy that "
            + "inspects TLS; empty: the system's.")
    static let fcmFile = text(
        "push.fcm.serviceAccountFile", "",
        about: "The key of a service account of your Firebase project (JSON), not readable by others; empty: no FCM.")
    static let fcmURL = text("push.fcm.url", "https://fcm.googleapis.com", about: "The address of FCM.")
    static let apnsFile = text(
        "push.apns.keyFile", "",
        about: "A key for APNs of your Apple team (.p8), not readable by others; empty: no APNs.")
    static let apnsKeyID = text("push.apns.keyID", "", about: "The id of that key, of 10 characters.")
    static let apnsTeamID = text("push.apns.teamID", "", about: "The id of your Apple team, of 10 characters.")
    static let apnsTopic = text("push.apns.topic", "", about: "The app's bundle id.")
    static let apnsURL = text(
        "push.apns.url", "https://api.push.apple.com",
        about: "The address of APNs; for apps in development https://api.sandbox.push.apple.com.")

    static let pushes: [FeatureSetting] = [
        pushQueue, pushAuthorities, fcmFile, fcmURL, apnsFile, apnsKeyID, apnsTeamID, apnsTopic, apnsURL,
    ]
}

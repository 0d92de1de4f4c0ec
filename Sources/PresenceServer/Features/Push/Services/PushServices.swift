import Foundation
import Installation
import OutgoingHTTP
import PresenceCore
import Tokens

/// The push services that the configuration names.
enum PushServices {
    static func count(_ configuration: ServerConfiguration) -> Int {
        [Push.fcmFile, Push.apnsFile, Push.webSubject].count { !configuration[$0].isEmpty }
    }

    /// - Parameter keys: For pushes to browsers.
    /// - Throws: the reason why the first is invalid.
    static func all(
        _ configuration: ServerConfiguration, _ keys: VAPIDKeys?
    ) throws(InvalidConfiguration) -> [any PushSender] {
        let authorities = configuration[Push.caFile]
        if !authorities.isEmpty { _ = try read(authorities, Push.caFile) }
        var senders: [any PushSender] = []
        if let fcm = try readFCM(configuration) { senders.append(fcm) }
        if let apns = try readAPNs(configuration) { senders.append(apns) }
        if let keys, let web = WebPush(configuration, keys, tls: tls(configuration)) { senders.append(web) }
        return senders
    }

    private static func readFCM(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> FCM? {
        let file = configuration[Push.fcmFile]
        guard !file.isEmpty else { return nil }
        let text = try secret(file, Push.fcmFile)
        func invalid(_ reason: String) -> InvalidConfiguration {
            InvalidConfiguration(key: Push.fcmFile.key, reason: "\(file) \(reason)")
        }
        guard let account = try? ServiceAccount(text), account.isWhole else {
            throw invalid(
                "is not a service account's key (JSON with project_id, private_key, client_email and token_uri)")
        }
        guard WebhookEndpoint.isAllowed(account.tokenUri) else {
            throw invalid("has a token_uri that is not https://…")
        }
        let signer: ServiceSigner
        do throws(StartFailure) {
            signer = try ServiceSigner(.rs256, pem: account.privateKey)
        } catch {
            throw invalid("has a private_key that \(error)")
        }
        return FCM(
            url: try url(configuration, Push.fcmURL), project: account.projectId,
            access: GoogleAccess(account, signer, tls: tls(configuration)), tls: tls(configuration))
    }

    private static func readAPNs(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> APNs? {
        let file = configuration[Push.apnsFile]
        guard !file.isEmpty else { return nil }
        let pem = try secret(file, Push.apnsFile)
        for (setting, isWhole) in [
            (Push.apnsKeyID, isID), (Push.apnsTeamID, isID), (Push.apnsTopic, isTopic),
        ] as [(Setting<String>, (String) -> Bool)] where !isWhole(configuration[setting]) {
            throw InvalidConfiguration(
                key: setting.key,
                reason: setting.key == Push.apnsTopic.key
                    ? "must be the app's bundle id, as in org.example.app" : "must be 10 capital letters and digits")
        }
        let signer: ServiceSigner
        do throws(StartFailure) {
            signer = try ServiceSigner(.es256, pem: pem)
        } catch {
            throw InvalidConfiguration(key: Push.apnsFile.key, reason: "\(file) \(error)")
        }
        return APNs(
            url: try url(configuration, Push.apnsURL), topic: configuration[Push.apnsTopic],
            tokens: ProviderTokens(
                team: configuration[Push.apnsTeamID], keyID: configuration[Push.apnsKeyID], signer: signer),
            tls: tls(configuration))
    }

    private static func tls(_ configuration: ServerConfiguration) -> OutgoingTLS {
        let authorities = configuration[Push.caFile]
        return OutgoingTLS(authorities: authorities.isEmpty ? nil : authorities)
    }

    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
    }

    private static func isTopic(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                    || $0 == 0x2D || $0 == 0x2E
            }
    }

    /// Without a slash at its end.
    private static func url(_ configuration: ServerConfiguration, _ setting: Setting<String>)
        throws(InvalidConfiguration) -> String
    {
        let text = configuration[setting]
        guard WebhookEndpoint.isAllowed(text), URLComponents(string: text)?.query == nil else {
            throw InvalidConfiguration(key: setting.key, reason: "must be https://…, without a query")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private static func secret(_ file: String, _ setting: Setting<String>) throws(InvalidConfiguration) -> String {
        let text = try read(file, setting)
        guard !PlainFile.isExposed(file) else {
            throw InvalidConfiguration(
                key: setting.key, reason: "\(file) can be read by every user of this machine: chmod 600 is needed")
        }
        return text
    }

    private static func read(_ file: String, _ setting: Setting<String>) throws(InvalidConfiguration) -> String {
        do throws(StartFailure) {
            return String(decoding: try PlainFile.read(file), as: UTF8.self)
        } catch {
            throw InvalidConfiguration(key: setting.key, reason: error.message)
        }
    }
}

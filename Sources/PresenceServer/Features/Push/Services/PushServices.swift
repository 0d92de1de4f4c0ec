import Foundation
import Installation
import OutgoingHTTP
import PresenceCore
import Tokens

/// The push services that the configuration names.
enum PushServices {
    static func count(_ configuration: ServerConfiguration) -> Int {
        [FeatureSetting.fcmFile, .apnsFile].count { !configuration[text: $0].isEmpty }
    }

    /// - Throws: the reason why the first is invalid.
    static func all(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> [any PushSender] {
        let authorities = configuration[text: .pushAuthorities]
        if !authorities.isEmpty { _ = try read(authorities, .pushAuthorities) }
        var senders: [any PushSender] = []
        if let fcm = try readFCM(configuration) { senders.append(fcm) }
        if let apns = try readAPNs(configuration) { senders.append(apns) }
        return senders
    }

    private static func readFCM(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> FCM? {
        let file = configuration[text: .fcmFile]
        guard !file.isEmpty else { return nil }
        let text = try secret(file, .fcmFile)
        func invalid(_ reason: String) -> InvalidConfiguration {
            InvalidConfiguration(key: FeatureSetting.fcmFile.key, reason: "\(file) \(reason)")
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
            url: try url(configuration, .fcmURL), project: account.projectId,
            access: GoogleAccess(account, signer, tls: tls(configuration)), tls: tls(configuration))
    }

    private static func readAPNs(_ configuration: ServerConfiguration) throws(InvalidConfiguration) -> APNs? {
        let file = configuration[text: .apnsFile]
        guard !file.isEmpty else { return nil }
        let pem = try secret(file, .apnsFile)
        for (setting, isWhole) in [
            (FeatureSetting.apnsKeyID, isID), (.apnsTeamID, isID), (.apnsTopic, isTopic),
        ] as [(FeatureSetting, (String) -> Bool)] where !isWhole(configuration[text: setting]) {
            throw InvalidConfiguration(
                key: setting.key,
                reason: setting == .apnsTopic
                    ? "must be the app's bundle id, as in org.example.app" : "must be 10 capital letters and digits")
        }
        let signer: ServiceSigner
        do throws(StartFailure) {
            signer = try ServiceSigner(.es256, pem: pem)
        } catch {
            throw InvalidConfiguration(key: FeatureSetting.apnsFile.key, reason: "\(file) \(error)")
        }
        return APNs(
            url: try url(configuration, .apnsURL), topic: configuration[text: .apnsTopic],
            tokens: ProviderTokens(
                team: configuration[text: .apnsTeamID], keyID: configuration[text: .apnsKeyID], signer: signer),
            tls: tls(configuration))
    }

    private static func tls(_ configuration: ServerConfiguration) -> OutgoingTLS {
        let authorities = configuration[text: .pushAuthorities]
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
    private static func url(_ configuration: ServerConfiguration, _ setting: FeatureSetting)
        throws(InvalidConfiguration) -> String
    {
        let text = configuration[text: setting]
        guard WebhookEndpoint.isAllowed(text), URLComponents(string: text)?.query == nil else {
            throw InvalidConfiguration(key: setting.key, reason: "must be https://…, without a query")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private static func secret(_ file: String, _ setting: FeatureSetting) throws(InvalidConfiguration) -> String {
        let text = try read(file, setting)
        guard !PlainFile.isExposed(file) else {
            throw InvalidConfiguration(
                key: setting.key, reason: "\(file) can be read by every user of this machine: chmod 600 is needed")
        }
        return text
    }

    private static func read(_ file: String, _ setting: FeatureSetting) throws(InvalidConfiguration) -> String {
        do throws(StartFailure) {
            return String(decoding: try PlainFile.read(file), as: UTF8.self)
        } catch {
            throw InvalidConfiguration(key: setting.key, reason: error.message)
        }
    }
}

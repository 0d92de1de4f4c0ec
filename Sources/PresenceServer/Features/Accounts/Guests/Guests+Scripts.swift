import CAssets
import PresenceCore

/// The scripts of guests.
extension Script {
    static let unusedGuests = Script("unused-guests", asset_unused_guests())
    static let wantUpgrade = change("want-upgrade", asset_want_upgrade())

    static let guests: [Script] = [.unusedGuests, .wantUpgrade]
}

// One import is enough: this product contains PresenceAccounts and, through it, PresenceKit.
@_exported import PresenceAccounts

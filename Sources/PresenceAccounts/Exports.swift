// One import is enough: this product contains PresenceKit.
@_exported import PresenceKit

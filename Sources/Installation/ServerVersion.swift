/// The version of this build, as `presenced --version` and the metric `presence_build_info` show it.
public enum ServerVersion {
    /// By [Semantic Versioning](https://semver.org): `-dev` until it is released.
    public static let current = "0.1.0-dev"
}

/// The version of this build, as `presenced --version` and the metric `presence_build_info` say it.
public enum ServerVersion {
    /// After [Semantic Versioning](https://semver.org): `-dev` until it is released.
    public static let current = "0.1.0-dev"
}

import Expectations
import Testing

@testable import Redis

struct LocationTests {
    @Test(arguments: [
        ("redis://h:1", "redis://h:1"), ("localhost", "redis://localhost:6379"),
        ("unix:///run/r.sock", "unix:///run/r.sock"),
        ("redis+sentinel://a,b:5/people", "redis+sentinel://a:26379,b:5/people"),
        ("redis-sentinel://ann:pw@a,[::1]:7/people/3", "redis+sentinel://a:26379,[::1]:7/people"),
        ("REDIS+CLUSTER://ann:hunter2@a,b:7001", "redis+cluster://a:6379,b:7001"),
        ("redis-cluster://a/0", "redis+cluster://a:6379"),
        ("rediss://h", "rediss://h:6379"), ("rediss-sentinel://:pw@a/people", "rediss+sentinel://a:26379/people"),
        ("rediss+cluster://a,b", "rediss+cluster://a:6379,b:6379"),
    ])
    func `a location is read, and shown without its password`(url: String, shown: String) throws {
        let location = try RedisLocation(url: url)
        expect("\(location)", equals: shown)
    }

    @Test func `sentinels and the servers that hold the data have credentials of their own`() throws {
        let url = "redis+sentinel://ann:p%40ss@a,b/my%2Fpeople/2?sentinel_username=sue&sentinel_password=s%26t"
        guard case .sentinels(let sentinels) = try RedisLocation(url: url) else { return expect(Bool(false)) }
        expect(sentinels.master, equals: "my/people")
        expect(
            sentinels.sentinels,
            equals: ["a", "b"].map { RedisEndpoint(.tcp(host: $0, port: 26379), user: "sue", password: "s&t") })
        expect(
            sentinels.endpoint(host: "m", port: 1),
            equals: RedisEndpoint(.tcp(host: "m", port: 1), user: "ann", password: "p@ss", database: 2))
    }

    @Test func `the nodes of a cluster share the credentials`() throws {
        guard case .cluster(let seeds) = try RedisLocation(url: "redis+cluster://:pw@a,b:7") else {
            return expect(Bool(false))
        }
        expect(seeds.seeds.map(\.password), equals: ["pw", "pw"])
        expect(
            seeds.endpoint(of: ClusterNode(host: "c", port: 9)),
            equals: RedisEndpoint(.tcp(host: "c", port: 9), password: "pw"))
    }

    @Test(arguments: [
        ("redis+sentinel://a", "name of the master"), ("redis+sentinel://a/", "name of the master"),
        ("redis+sentinel:///people", "no host"), ("redis+sentinel://a/people/x", "database"),
        ("redis+sentinel://a/people?db=hunter2", "takes only"), ("redis+sentinel://a/p?sentinel_username=x", "needs"),
        ("redis+sentinel://a/p?sentinel_password=", "empty"), ("redis+cluster://", "no host"),
        ("redis+cluster://a,,b", "no host"), ("redis+cluster://a/1", "databases"),
        ("redis+cluster://a?x=1", "takes no"),
        ("redis+cluster://a:0", "port"), ("rediss+sentinel://a", "name of the master"),
        ("redis+x://a", "unknown scheme"),
        ("redis+cluster://a b", "space"),
    ])
    func `the wrong part is named`(url: String, part: String) {
        #expect { try RedisLocation(url: url) } throws: { "\($0)".contains(part) && !"\($0)".contains("hunter2") }
    }
}

import Expectations
import Redis
import Testing

struct EndpointTests {
    @Test(arguments: [
        ("redis://example.org", RedisEndpoint(.tcp(host: "example.org", port: 6379))),
        ("redis://example.org/", RedisEndpoint(.tcp(host: "example.org", port: 6379))),
        ("REDIS://10.0.0.1:7000/3", RedisEndpoint(.tcp(host: "10.0.0.1", port: 7000), database: 3)),
        ("redis://:s%40cret@h:1", RedisEndpoint(.tcp(host: "h", port: 1), password: "s@cret")),
        ("redis://ann:p@ss:w@h", RedisEndpoint(.tcp(host: "h", port: 6379), user: "ann", password: "p@ss:w")),
        ("redis://[::1]:6380/1", RedisEndpoint(.tcp(host: "::1", port: 6380), database: 1)),
        ("localhost", RedisEndpoint(.tcp(host: "localhost", port: 6379))),
        ("localhost:65535", RedisEndpoint(.tcp(host: "localhost", port: 65535))),
        ("[fe80::1]", RedisEndpoint(.tcp(host: "fe80::1", port: 6379))),
        ("unix:///run/redis.sock", RedisEndpoint(.unix(path: "/run/redis.sock"))),
        (
            "unix://bo:pw@/run/r.sock?db=15",
            RedisEndpoint(.unix(path: "/run/r.sock"), user: "bo", password: "pw", database: 15)
        ),
    ])
    func `an address is read`(url: String, endpoint: RedisEndpoint) throws {
        try expect(RedisEndpoint(url: url), equals: endpoint)
    }

    @Test(arguments: [
        ("", "empty"),
        ("redis://h h", "space"),
        ("http://h", "unknown scheme \"http\""),
        ("rediss:///run/redis.sock", "no host"),
        ("/run/redis.sock", "starts with redis:// or unix://"),
        ("ann:pw@h", "starts with redis:// or unix://"),
        ("redis://", "no host"),
        ("redis://:70", "no host"),
        ("h:0", "port \"0\""),
        ("h:65536", "port \"65536\""),
        ("h:+1", "port \"+1\""),
        ("h:", "port \"\""),
        ("::1", "brackets"),
        ("redis://[::1", "[address]:port"),
        ("redis://[::1]7", "[address]:port"),
        ("redis://h/x", "database \"x\""),
        ("redis://h/-1", "database \"-1\""),
        ("redis://h/1/2", "database \"1/2\""),
        ("redis://h?db=1", "takes no ?"),
        ("redis://ann@h", "a user needs a password"),
        ("redis://ann:@h", "password is empty"),
        ("redis://ann:%4@h", "the password holds a %"),
        ("redis://%ff:x@h", "the user holds a %"),
        ("unix://run/redis.sock", "absolute path"),
        ("unix:///", "absolute path"),
        ("unix:///a?database=1", "only ?db=N"),
        ("unix:///a?db=", "database \"\""),
    ])
    func `an error names the wrong part`(url: String, part: String) {
        #expect { try RedisEndpoint(url: url) } throws: { "\($0)".contains(part) }
    }

    @Test func `a socket's path may be 106 bytes long and no longer`() throws {
        let longest = "/" + String(repeating: "a", count: RedisEndpoint.maximumPathLength - 1)
        try expect(RedisEndpoint(url: "unix://" + longest).address, equals: .unix(path: longest))
        #expect(throws: RedisEndpointError.self) { try RedisEndpoint(url: "unix://" + longest + "a") }
    }

    @Test(arguments: [
        "redis://ann:hunter2@h:70000", "redis://ann:hunter2@h/x", "redi://ann:hunter2@h", "ann:hunter2@h",
    ])
    func `an error never shows the password`(url: String) {
        #expect { try RedisEndpoint(url: url) } throws: { !"\($0)".contains("hunter2") }
    }

    @Test func `nothing that prints an endpoint shows the password`() throws {
        let endpoint = try RedisEndpoint(url: "redis://ann:hunter2@h:7/2")
        var dumped = ""
        dump(endpoint, to: &dumped)
        expect("\(endpoint)", equals: "redis://ann@h:7/2")
        expect(!(dumped + String(reflecting: endpoint)).contains("hunter2"))
    }
}

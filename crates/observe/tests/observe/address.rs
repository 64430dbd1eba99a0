//! Addresses.

use firstcheck_observe::Address;

#[test]
fn addresses_are_read_and_joined() {
    let cases = [
        ("http://h:8000", "http://h:8000/metrics", "h", 8000),
        ("http://h:8000/", "http://h:8000/metrics", "h", 8000),
        ("https://h/v1", "https://h/metrics", "h", 443),
        ("http://h/v1/", "http://h/metrics", "h", 80),
        ("http://h/team/llama/v1", "http://h/team/llama/metrics", "h", 80),
        ("http://h/apiv1", "http://h/apiv1/metrics", "h", 80),
        ("http://[::1]:9000/v1?x=1", "http://[::1]:9000/metrics", "::1", 9000),
    ];
    for (given, metrics, host, port) in cases {
        let address: Address = given.parse().unwrap();
        assert_eq!(address.root().join("/metrics").to_string(), metrics, "{given}");
        assert_eq!((address.host(), address.port()), (host, port), "{given}");
        assert_eq!(address.is_tls(), given.starts_with("https"), "{given}");
    }
    let page: Address = "http://dcgm:9400/metrics?collect=all".parse().unwrap();
    assert!(page.has_query() && !page.root().has_query());
    assert_eq!(page.to_string(), "http://dcgm:9400/metrics?…", "a query may hold a key and is not shown");
    let error = "http://me:secret@dcgm/metrics?token=secret".parse::<Address>().unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn unusable_addresses_are_refused_without_their_passwords() {
    let cases = [
        ("gpu-7:8000", "needs http:// or https://"),
        ("gpu-7", "needs http:// or https://"),
        ("ftp://h/", "needs http:// or https://"),
        ("http://", ""),
        ("http://user:hunter2@h/", "holds a user name or password"),
        ("http://user:hunter2 @h/", ""),
        ("http://h:99999/", ""),
        ("", ""),
    ];
    for (given, why) in cases {
        let text = given.parse::<Address>().unwrap_err().to_string();
        assert!(text.contains(why), "{given}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

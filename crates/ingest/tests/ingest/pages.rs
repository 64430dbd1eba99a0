//! Metrics pages: text 0.0.4 and OpenMetrics.

use firstcheck_ingest::{
    Limits,
    prometheus::{Page, SeriesSet, parse, parse_within},
};
use firstcheck_model::{
    moment::{Moment, Window},
    signal::{Labels, Part, SeriesKind, Signal},
};
use proptest::prelude::*;

fn only(page: &Page) -> (&str, String, Part, SeriesKind, f64) {
    assert_eq!(page.samples.len(), 1, "{page:?}");
    let sample = &page.samples[0];
    (&sample.name, sample.labels.render(), sample.part, sample.kind, sample.value)
}

#[test]
fn types_and_suffixes_tell_parts_and_kinds() {
    let inf = f64::INFINITY;
    let cases: [(&str, Part, SeriesKind, f64); 16] = [
        ("# TYPE a counter\na 1", Part::Value, SeriesKind::Counter, 1.0),
        ("# TYPE a counter\na_total 1", Part::Value, SeriesKind::Counter, 1.0),
        ("# TYPE a counter\na_created 1e9", Part::Value, SeriesKind::Gauge, 1e9),
        ("# TYPE a gauge\na -0.5", Part::Value, SeriesKind::Gauge, -0.5),
        ("# TYPE a info\na_info{v=\"1\"} 1", Part::Value, SeriesKind::Gauge, 1.0),
        ("# TYPE a histogram\na_bucket{le=\"0.1\"} 3", Part::Bucket(0.1), SeriesKind::Counter, 3.0),
        ("# TYPE a histogram\na_bucket{le=\"+Inf\"} 3", Part::Bucket(inf), SeriesKind::Counter, 3.0),
        ("# TYPE a histogram\na_sum 3", Part::Sum, SeriesKind::Counter, 3.0),
        ("# TYPE a histogram\na_count 3", Part::Count, SeriesKind::Counter, 3.0),
        ("# TYPE a_total histogram\na_total_sum 3", Part::Sum, SeriesKind::Counter, 3.0),
        ("# TYPE a gaugehistogram\na_gcount 3", Part::Count, SeriesKind::Gauge, 3.0),
        ("# TYPE a summary\na{quantile=\"0.9\"} 3", Part::Quantile(0.9), SeriesKind::Gauge, 3.0),
        ("# TYPE a summary\na_count 3", Part::Count, SeriesKind::Counter, 3.0),
        ("a_bucket{le=\"1\"} 3", Part::Bucket(1.0), SeriesKind::Untyped, 3.0),
        ("a 3", Part::Value, SeriesKind::Untyped, 3.0),
        ("# TYPE a untyped\na +Inf", Part::Value, SeriesKind::Untyped, inf),
    ];
    for (text, part, kind, value) in cases {
        let page = parse(text.as_bytes());
        let (_, labels, p, k, v) = only(&page);
        assert_eq!((p, k, v, page.unread_total), (part, kind, value, 0), "{text}");
        assert!(!labels.contains("le=") && !labels.contains("quantile="), "{text}");
    }
    assert!(parse(b"a NaN").samples[0].value.is_nan());
}

#[test]
fn escapes_utf8_names_exemplars_and_timestamps_are_understood() {
    let page = parse(b"a{p=\"C:\\\\x\\n\\\"y\\\"\",q=\"#{},\",} 1 1700000000123");
    assert_eq!(page.samples[0].labels.get("p"), Some("C:\\x\n\"y\""));
    assert_eq!(page.samples[0].labels.get("q"), Some("#{},"));
    assert_eq!(page.samples[0].at_unix_ms, Some(1700000000123.0));

    let page = parse(b"{\"my.metric\", \"a b\"=\"c\"} 2\r\n");
    assert_eq!(only(&page), ("my.metric", "{a b=\"c\"}".into(), Part::Value, SeriesKind::Untyped, 2.0));

    let page = parse(b"# TYPE a histogram\na_bucket{le=\"1\"} 3 1700000000.5 # {trace_id=\"x\"} 0.7\n# EOF\n");
    assert_eq!(page.samples[0].at_unix_ms, Some(1_700_000_000_500.0), "OpenMetrics writes seconds");
    assert!(page.complete);
}

#[test]
fn malformed_lines_are_counted_with_their_line_and_the_rest_is_read() {
    let cases: [(&[u8], &str); 19] = [
        (b"1a 3", "digit"),
        (b"{} 3", "no metric name"),
        (b"a", "no value"),
        (b"a x", "no number"),
        (b"a 1 x", "timestamp"),
        (b"a 1 2 3", "unexpected"),
        (b"a{b=\"c\" 1", "comma"),
        (b"a{b=\"c 1", "does not end"),
        (b"a{b=c} 1", "not quoted"),
        (b"a{b} 1", "no `=`"),
        (b"a{=\"x\"} 1", "without a name"),
        (b"a{b=\"1\",b=\"2\"} 1", "twice"),
        (b"a{\"b\"} 1", "second metric name"),
        (b"# TYPE a", "without a name"),
        (b"# TYPE a speed", "unknown type"),
        (b"a\xff 1", "UTF-8"),
        (b"# TYPE h histogram\nh_bucket 1", "without le"),
        (b"# TYPE h histogram\nh_bucket{le=\"x\"} 1", "le `x`"),
        (b"HTTP/1.1 200 OK", "no number"),
    ];
    for (bad, reason) in cases {
        let text = [b"first 1\n".as_slice(), bad, b"\nlast 2\n"].concat();
        let page = parse(&text);
        let shown = String::from_utf8_lossy(bad);
        assert_eq!(page.unread_total, 1, "{shown}");
        let line = 1 + bad.split(|b| *b == b'\n').count() as u64;
        assert_eq!(page.unread[0].line, line, "{shown}");
        assert!(page.unread[0].reason.contains(reason), "{shown}: {}", page.unread[0].reason);
        assert_eq!(page.samples.len(), 2, "{shown}");
    }
    assert_eq!(parse(b"a{x=\"1\"} 1\na{x=\"1\"} 2\n").unread[0].reason, "the same series a second time");
    assert_eq!(parse(b"# EOF\na 1\n").unread[0].reason, "something follows # EOF");
}

#[test]
fn limits_bound_reasons_lines_and_pages() {
    let limits = Limits { unread: 2, line_bytes: 10, page_bytes: 40, ..Limits::default() };
    let page = parse_within(b"x\nx\nx\naaaaaaaaaaaaaaaaaaaa 1\nb 1\nccccccccccc 1\nd 1\n", &limits);
    assert_eq!((page.unread.len(), page.samples.len()), (2, 1));
    assert_eq!(page.unread_total, 6, "three without a value, two too long, one beyond the limit");
}

#[test]
fn pages_become_series_in_time_order_with_their_meaning() {
    let page = |value: u32| {
        parse(
            format!(
                "# TYPE vllm:num_preemptions_total counter\nvllm:num_preemptions_total {value}\n\
                 # TYPE other gauge\nother{{a=\"{value}\"}} 1\n"
            )
            .as_bytes(),
        )
    };
    let mut set = SeriesSet::default();
    assert!(set.add(&page(7), "main", Moment::at(20)));
    assert!(set.add(&page(3), "main", Moment::at(10)), "an earlier page finds its place");
    assert!(set.add(&page(1), "node", Moment::at(10)));
    assert!(!set.add(&page(9), "main", Moment::NEVER), "a page without a moment has no place");
    let series = set.finish();
    let preemptions = series.iter().find(|s| s.signal == Some(Signal::Preemptions) && s.page == "main").unwrap();
    assert_eq!((&preemptions.at[..], &preemptions.value[..]), (&[Moment::at(10), Moment::at(20)][..], &[3.0, 7.0][..]));
    let window = Window { start: Moment::at(10), end: Moment::at(20) };
    assert_eq!(preemptions.delta(Some(window)).unwrap().value, 4.0);
    assert_eq!(series.iter().filter(|s| s.name == "other").count(), 3, "labels tell series apart");
    assert!(series.iter().filter(|s| s.name == "other").all(|s| s.signal.is_none()));
}

fn labels() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::btree_map("[a-z_][a-z0-9_]{0,6}", "(?s).{0,12}", 0..4)
        .prop_map(|map| map.into_iter().filter(|(name, _)| name != "le" && name != "quantile").collect())
}

proptest! {
    #[test]
    fn what_is_written_by_the_rules_is_read_back(
        name in "[a-zA-Z_:][a-zA-Z0-9_:]{0,12}",
        labels in labels(),
        value in prop::num::f64::ANY,
        stamp in prop::option::of(-1_000_000i64..4_000_000_000_000),
    ) {
        let escape = |v: &str| v.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let inner: Vec<String> = labels.iter().map(|(n, v)| format!("{n}=\"{}\"", escape(v))).collect();
        let stamp_text = stamp.map_or_else(String::new, |s| format!(" {s}"));
        let line = format!("# TYPE {name} gauge\n{name}{{{}}} {value:?}{stamp_text}\n", inner.join(","));
        let page = parse(line.as_bytes());
        prop_assert_eq!(page.unread_total, 0, "{} {:?}", line, page.unread);
        let sample = &page.samples[0];
        prop_assert_eq!(&sample.name, &name);
        prop_assert_eq!(&sample.labels, &Labels::new(labels));
        prop_assert!(sample.value == value || (sample.value.is_nan() && value.is_nan()));
        prop_assert_eq!(sample.at_unix_ms, stamp.map(|s| s as f64));
    }

    #[test]
    fn every_line_of_any_bytes_is_a_sample_a_comment_or_unread(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let page = parse(&bytes);
        let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty()).count() as u64;
        prop_assert!(page.samples.len() as u64 + page.unread_total <= lines);
    }

    #[test]
    fn near_pages_never_panic(text in "(# TYPE |a|_bucket|\\{|\\}|=|\"|le|,| |1|\\n|\\\\|#|EOF|histogram|é){0,40}") {
        parse(text.as_bytes());
    }
}

#[test]
fn labels_named_like_a_secret_lose_their_text() {
    let labels = |text: &str| parse(format!("a{{{text}}} 1").as_bytes()).samples[0].labels.render();
    let kept =
        labels(r#"api_key="planted",key_type="aes",model_name="hf_small",key="7",user="hf_planted7Abcdefghij123""#);
    assert!(!kept.contains("planted") && kept.contains("api_key=\"(redacted "), "{kept}");
    assert!(kept.contains(r#"key="7",key_type="aes",model_name="hf_small",user="(redacted "#), "{kept}");
    // Whose series they are stays told apart, and read once more they are what they were.
    assert_ne!(labels(r#"customer_key="a""#), labels(r#"customer_key="b""#));
    let once = labels(r#"customer_key="a""#);
    assert_eq!(labels(once.trim_matches(['{', '}'])), once);
}

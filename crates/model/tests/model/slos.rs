use firstcheck_model::slo::Slo;

#[test]
fn what_is_printed_reads_back() {
    for text in ["ttft=1s", "ttft=250ms,itl=50ms", "itl=1.5ms,e2e=30s,gap=2s"] {
        let slo: Slo = text.parse().unwrap();
        assert_eq!(slo.to_string().parse::<Slo>().unwrap(), slo, "{text} prints as {slo}");
    }
}

#[test]
fn what_cannot_be_read_says_how_to_mend_it() {
    let rows = [
        ("", "at least one bound"),
        ("ttft", "NAME=DURATION"),
        ("ttft=1", "with its unit"),
        ("ttft=-1s", "positive"),
        ("ttft=infs", "positive"),
        ("latency=1s", "use ttft, itl (or tpot), e2e, gap"),
        ("itl=1ms,tpot=2ms", "given twice"),
    ];
    for (text, part) in rows {
        let error = text.parse::<Slo>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

//! Fingerprints as files hold them.

use firstcheck_model::fingerprint::{Fingerprint, Group, Stated, field};

#[test]
fn a_field_without_a_group_is_one_of_an_earlier_version() {
    let old = r#"{"engine":{"value":"vllm","from":"/metrics"},"max_num_seqs":{"value":"256","from":"/server_info"}}"#;
    let print: Fingerprint = serde_json::from_str(old).unwrap();
    assert_eq!(print.get(field::ENGINE), Some("vllm"));
    assert_eq!(print.field(field::ENGINE).unwrap().group, Group::Engine);
    assert_eq!(print.field(field::MAX_NUM_SEQS).unwrap().group, Group::Resolved);
}

#[test]
fn what_is_written_is_read_again() {
    let mut print = Fingerprint::default();
    print.state(Group::Hardware, field::GPU_MODEL, Stated::new("H100", "gpus.xml"));
    print.state(Group::Resolved, field::MAX_NUM_SEQS, Stated::new("256", "server.log").at_line(7));
    print.state(Group::Resolved, field::MAX_NUM_SEQS, Stated::new("64", "/server_info"));
    let text = serde_json::to_string(&print).unwrap();
    assert!(text.contains(r#""also":[{"value":"256","from":"server.log","line":7}]"#), "{text}");
    assert_eq!(serde_json::from_str::<Fingerprint>(&text).unwrap(), print);
}

#[test]
fn sources_that_agree_do_not_contradict() {
    let mut print = Fingerprint::default();
    for (value, from) in [("True", "a"), ("true", "b"), ("false", "c"), ("true", "d")] {
        print.set(field::PREFIX_CACHING, value, from);
    }
    let field = print.field(field::PREFIX_CACHING).unwrap();
    assert_eq!((field.stated.value.as_str(), field.stated.from.as_str()), ("true", "d"));
    assert_eq!(field.also.iter().map(|one| one.value.as_str()).collect::<Vec<_>>(), ["false"]);
}

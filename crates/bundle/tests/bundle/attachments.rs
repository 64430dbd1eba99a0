//! Attached files.

use crate::run;
use firstcheck_bundle::{Attached, Bundle, Error};

#[test]
fn attached_files_come_back_byte_for_byte() {
    let parent = tempfile::tempdir().unwrap();
    let mut writer = run::unfinished(parent.path(), 1);
    let content: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let names = ["../../metrics?x=1", "a.log", "a.log"].map(|name| writer.attach(name, content.as_slice()).unwrap());
    assert_eq!(names, ["_._.._metrics_x_1", "a.log", "a-2.log"]);
    let unfinished = Bundle::open(parent.path()).unwrap();
    assert_eq!(unfinished.read_attached("a-2.log").unwrap(), content, "before the end of the run");
    writer.finish(run::info()).unwrap();
    let bundle = Bundle::open(parent.path()).unwrap();
    let expected = names.clone().map(|name| Attached { name, bytes: 300_000 });
    assert_eq!(bundle.attached(), expected);
    for name in names {
        assert_eq!(bundle.read_attached(&name).unwrap(), content);
    }
    for absent in ["b.log", "../run.json", "../attached/a.log"] {
        assert!(matches!(bundle.read_attached(absent), Err(Error::NoAttachment { .. })), "{absent}");
    }
}

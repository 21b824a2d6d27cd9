//! Every file of the corpus is judged in every mode; none may panic, and a ruling is always whole.

use std::path::Path;

use contract::policy::Mode;

use crate::setting::{judge, run};

#[test]
fn every_file_of_the_corpus_is_judged_without_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let judge = judge();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for mode in [Mode::ReadOnly, Mode::Normal, Mode::Yolo] {
            let ruling = run(&judge, &text, mode);
            assert!(ruling.deciding().is_some(), "{text}");
        }
        seen += 1;
    }
    assert!(seen >= 20, "the corpus has {seen} files");
}

//! The files in `vectors/` are what the examples make.

use std::collections::BTreeSet;

use crate::make_raf_vectors::make_vectors::{files, folder};
use crate::{make_file_answers, make_raf_vectors};

#[test]
fn the_files_are_what_the_reference_says() {
    let mut names = BTreeSet::from([".gitattributes", "README.md"].map(String::from));
    let mut total = 0;
    let others = [
        (make_raf_vectors::NAME, make_raf_vectors::contents()),
        (make_file_answers::NAME, make_file_answers::contents()),
    ];
    for (name, expected) in files().into_iter().chain(others) {
        let found = std::fs::read_to_string(folder().join(name)).unwrap();
        assert!(found == expected, "{name} is out of date: run the example that makes it");
        assert!(
            expected.lines().all(|line| line.len() < 2000),
            "{name}: README.md promises short lines"
        );
        total += expected.len();
        names.insert(name.to_string());
    }
    let there: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(there, names);
    assert!(total < 5 << 18, "{total} bytes are more than vectors should take");
}

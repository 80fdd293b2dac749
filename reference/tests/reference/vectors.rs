//! The files in `vectors/` are what `make_vectors` and `make_raf_vectors` make.

use std::collections::BTreeSet;

use crate::make_raf_vectors;
use crate::make_raf_vectors::make_vectors::{files, folder};

#[test]
fn the_files_are_what_the_reference_says() {
    let mut names = BTreeSet::from([".gitattributes", "README.md"].map(String::from));
    let mut total = 0;
    for (name, expected) in
        files().into_iter().chain([(make_raf_vectors::NAME, make_raf_vectors::contents())])
    {
        let found = std::fs::read_to_string(folder().join(name)).unwrap();
        assert!(
            found == expected,
            "{name} is out of date: run the example make_vectors or make_raf_vectors"
        );
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
    assert!(total < 1 << 20, "{total} bytes are more than vectors should take");
}

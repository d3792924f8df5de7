//! dedup's twin in C: what it compresses comes back, and its fault and its cure are those of the
//! program in Rust.

mod support;

use support::{in_c, number, run};

#[test]
fn chunks_come_back_whatever_the_bucket_hash() {
    let program = in_c("c/dedup.c");
    let words = [
        "--seconds",
        "0.3",
        "--megabytes",
        "8",
        "--earlier",
        "20000",
        "--verify",
        "1",
    ];
    let add = run(&program, &words);
    let xor = run(&program, &[&words[..], &["--hash", "xor"]].concat());
    for text in [&add, &xor] {
        assert!(text.contains("\n0 chunks came back changed"), "{text}");
        assert!(number(text, "compressed to ") < 1150.0, "{text}");
    }
    assert_eq!(number(&add, "check "), number(&xor, "check "));
    let (few, many) = (
        number(&add, "buckets used: "),
        number(&xor, "buckets used: "),
    );
    assert!(few < 5.0 && many > 25.0, "{add}{xor}");
    let walked = |text: &str| number(text, "chunks in a used bucket: ");
    assert!(walked(&add) > 10.0 && walked(&xor) < 3.0, "{add}{xor}");
}

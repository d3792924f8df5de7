//! Profiles and targets that mean no good: the bodies of the fuzz targets as property tests.

use coz_rs_tests::hostile;
use proptest::prelude::*;

/// Names that mean something to whoever shows them.
fn name() -> impl Strategy<Value = String> {
    let bad = prop::sample::select(vec![
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m",
        "\u{202e}gnp.exe",
        "=HYPERLINK(\"http://x\")",
        "@SUM(A1)",
        "a\r\nb",
        "../../../../../../etc/passwd",
        "\u{0}",
        "{{data}}",
        "]]>",
        "%s%n",
        "src/main.rs",
    ]);
    let long = (1usize..3000).prop_map(|count| "d/".repeat(count));
    (
        prop_oneof![bad.prop_map(str::to_owned), long, any::<String>()],
        0u64..u64::MAX,
    )
        .prop_map(|(text, line)| format!("{text}:{}", line % 90_000_000_000))
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..5000,
        Just(u64::MAX),
        Just(u64::MAX / 2),
        Just(999_999_999_999_999_999),
        any::<u64>()
    ]
}

/// A profile whose records are whole, with hostile names and numbers.
fn records() -> impl Strategy<Value = Vec<u8>> {
    let group = (
        name(),
        name(),
        0u8..=20,
        [number(), number(), number(), number()],
        any::<bool>(),
    );
    prop::collection::vec(group, 1..12).prop_map(|groups| {
        let mut text = serde_json::json!({"type": "startup", "time": 1}).to_string();
        for (selected, point, level, numbers, latency) in groups {
            let speedup = f64::from(level) / 20.0;
            let mut lines = vec![serde_json::json!({
                "type": "experiment", "selected": selected, "speedup": speedup,
                "duration": numbers[0], "selected_samples": numbers[1], "block": numbers[2] % 4,
                "wall": numbers[3], "edges": [{"name": point, "visits": numbers[1],
                "duration": numbers[2], "wall": numbers[3]}],
            })];
            lines.push(if latency {
                serde_json::json!({"type": "latency-point", "name": point, "arrivals": numbers[1],
                    "departures": numbers[2], "difference": -1, "mean_in_flight": numbers[3]})
            } else {
                serde_json::json!({"type": "throughput-point", "name": point, "delta": numbers[1]})
            });
            lines.push(serde_json::json!({"type": "samples", "location": selected,
                "count": numbers[0], "function": point}));
            lines.push(
                serde_json::json!({"type": "shutdown", "doubt": {"name": point,
                "text": selected, "location": point}}),
            );
            for line in lines {
                text.push('\n');
                text.push_str(&line.to_string());
            }
        }
        text.into_bytes()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn hostile_profiles_are_safe_in_every_form(bytes in records(), end in any::<prop::sample::Index>(), cut: bool) {
        let length = if cut { end.index(bytes.len()) } else { bytes.len() };
        hostile::profile(&bytes[..length]);
    }

    #[test]
    fn hostile_memory_is_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        hostile::shared_memory(&bytes).unwrap();
    }
}

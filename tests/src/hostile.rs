//! What must hold whatever a profile or a target's shared memory contains: the bodies of the fuzz
//! targets under `fuzz/`, which run as property tests, too.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use anyhow::Result;
use coz_rs::experiments::observation::Observation;
use coz_rs::experiments::window::{Meter, Terms};
use coz_rs::symbols::HitRanges;
use coz_rs::targets::shared_region::{PlanToPublish, SharedRegion};
use coz_rs_plot::estimates::analyse;
use coz_rs_plot::export;
use coz_rs_plot::html;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::text::{self, Style};

/// Reads a profile and shows it in every form.
///
/// # Panics
/// If a form is not safe: a terminal would obey it, a browser or a spreadsheet would run it, or a
/// tool could not read it.
pub fn profile(bytes: &[u8]) {
    let profile = Profile::parse(bytes);
    let analysis = analyse(&profile.records);
    let style = Style::default();
    for text in [
        text::report(&analysis, &style),
        text::summary(&analysis, &style),
        export::editor::editor(&analysis),
    ] {
        assert!(text.chars().all(is_printed), "{text:?}");
    }
    let table = export::csv::csv(&analysis);
    for field in table.split(',') {
        let field = field.trim_start_matches('"');
        let number = field.trim().parse::<f64>().is_ok();
        assert!(number || !field.starts_with(['=', '+', '@']), "{field:?}");
    }
    let json = export::json(&analysis).expect("an analysis has nothing that JSON lacks");
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
    for point in 0..analysis.points.len().min(3) {
        let picture = export::svg::svg(&analysis, point, 6).unwrap_or_default();
        assert!(!picture.contains("<script") && !picture.contains('\u{1b}'));
    }
    let page = html::report(&analysis, &mut |_, _| None);
    let empty = html::report(&analyse(&[]), &mut |_, _| None);
    let scripts = |page: &str| page.matches("<script").count();
    assert_eq!(scripts(&page), scripts(&empty), "a name became a script");
    assert!(!page.contains("<img") && !page.contains('\u{1b}'));
}

/// What a terminal shows without being told to do anything.
fn is_printed(character: char) -> bool {
    character == '\n' || !(character.is_control() || ('\u{202a}'..='\u{202e}').contains(&character))
}

/// Words that bring arithmetic to its edges.
const EDGES: [u64; 8] = [
    0,
    1,
    u64::MAX,
    u64::MAX - 1,
    1 << 63,
    u32::MAX as u64,
    0x7fff_ffff,
    1 << 40,
];

/// Reads the memory that a target shares, into which `bytes` write: each eleven say where and what.
///
/// # Errors
/// If no memory can be shared.
pub fn shared_memory(bytes: &[u8]) -> Result<()> {
    let (mut region, memory) = SharedRegion::create(997_000)?;
    let memory = File::from(memory);
    let size = memory.metadata()?.len();
    let mut meter: Option<Meter> = None;
    for (step, change) in bytes.chunks_exact(11).enumerate() {
        let mut place = [0; 8];
        place[..4].copy_from_slice(&change[..4]);
        let place = u64::from_ne_bytes(place);
        // Half of the changes fall on the headers and the first of each table.
        let place = match change[4] % 4 {
            0 => place % 4096,
            1 => place % (1 << 20),
            _ => place % (size - 8),
        };
        let mut word = [0; 8];
        word[..6].copy_from_slice(&change[5..]);
        let value = match change[4] >> 2 {
            edge if (edge as usize) < EDGES.len() => EDGES[edge as usize],
            _ => u64::from_ne_bytes(word),
        };
        memory.write_all_at(&value.to_ne_bytes(), place & !7)?;
        if step % 4 == 0 {
            look(&mut region, &mut meter);
        }
    }
    look(&mut region, &mut meter);
    Ok(())
}

fn look(region: &mut SharedRegion, meter: &mut Option<Meter>) {
    let count = region.point_count();
    let names: usize = (0..count.min(40))
        .filter_map(|point| Some(region.point(point)?.1.len()))
        .sum();
    assert!(names <= 40 * 3 * 168, "names are as long as there is room");
    let ledgers = region.ledgers();
    let observation = Observation {
        time: ledgers.g ^ ledgers.samples,
        g: ledgers.g,
        hits: ledgers.hits,
        samples: ledgers.samples,
        counts: (0..count).map(|point| region.visits(point)).collect(),
        flows: (0..2)
            .map(|point| (region.flow(point), region.flow(point + 1)))
            .collect(),
    };
    let terms = Terms {
        expected: 0,
        lead_in: 0,
        lead_in_samples: 0,
        longest_lead_in: 1,
        point: 0,
        length: 1_000_000,
        pairs: 2,
    };
    match meter {
        Some(meter) => drop(meter.observe(observation)),
        None => *meter = Some(Meter::new(terms, observation)),
    }
    region.publish_plan(&PlanToPublish {
        window: 1,
        line: 1,
        speedup: 0.5,
        crowded: false,
        ranges: &HitRanges {
            alone: vec![(16, 32)],
            ..HitRanges::default()
        },
    });
    let mut frames = 0;
    let drained = region.drain(|sample| frames += sample.frames.len());
    assert!(frames as u64 <= drained.read * 56);
    let _ = (
        region.turned_off(),
        region.lost_for_want_of_room(),
        region.cut_samples(),
    );
    let _ = (
        region.exec_failed(u64::MAX, 1),
        region.forgiven(),
        region.deep_bindings(),
    );
}

//! Doubts that only the records as a whole can tell.

use super::disturbed::Disturbances;
use super::{DoubtNote, PointAnalysis, PointKind};
use crate::safe_text::one_line;

/// Of points whose work comes by the clock.
pub(super) fn of_points(points: &[PointAnalysis]) -> impl Iterator<Item = DoubtNote> {
    let by_the_clock = points.iter().filter(|point| point.by_the_clock);
    by_the_clock.map(|point| {
        let name = one_line(&point.name);
        let consequence = match point.kind {
            PointKind::Throughput => {
                "no line can make more of it, and its gains are those of wall time"
            }
            PointKind::Latency => "virtual time does not hold and its gains are no advice",
        };
        DoubtNote {
            doubt: "by-the-clock".to_owned(),
            text: format!(
                "The work of `{name}` comes by the clock or from another process (it came as fast \
                 as ever while the whole program was slowed down), so {consequence}; let a thread \
                 of the program make the work, each piece some time after the last one."
            ),
            location: None,
        }
    })
}

/// Of windows that something else disturbed.
pub(super) fn of_disturbances(disturbances: &Disturbances) -> Option<DoubtNote> {
    let count = disturbances.count;
    let windows = if count == 1 {
        "1 window"
    } else {
        &format!("{count} windows")
    };
    let treatment = if disturbances.left_out {
        "left out"
    } else {
        "kept, as they are too many to leave out"
    };
    (count > 0).then(|| DoubtNote {
        doubt: "disturbed".to_owned(),
        text: format!(
            "In {windows} another program or the hypervisor took processor time away from this \
             one (steal, or runnable threads moved aside): {treatment}; run on a quieter machine, \
             or longer with `--for 2m`."
        ),
        location: None,
    })
}

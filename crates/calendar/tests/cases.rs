//! The cases of the repository: every expression with its right answer, and every one that must be refused.

#![allow(clippy::unwrap_used)]

use calendar::{DstGap, DstOverlap, Options, Timestamp, Timetable, Timing, Zone};
use gengfu_calendar as calendar;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    next: Vec<Next>,
    rejected: Vec<Rejected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Next {
    cron: String,
    zone: String,
    after: String,
    #[serde(default)]
    dst_gap: DstGap,
    #[serde(default)]
    dst_overlap: DstOverlap,
    next: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rejected {
    cron: String,
}

fn cases() -> Cases {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/cron.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn timetable(case: &Next) -> Timetable {
    let options = Options {
        dst_gap: case.dst_gap,
        dst_overlap: case.dst_overlap,
        ..Options::default()
    };
    let timing = Timing::parse(&case.cron, None).unwrap();
    Timetable::new(timing, Zone::named(&case.zone).unwrap(), options).unwrap()
}

#[test]
fn every_case_fires_when_it_should() {
    let cases = cases();
    assert!(cases.next.len() >= 40);
    for case in cases.next {
        let after: Timestamp = case.after.parse().unwrap();
        let timetable = timetable(&case);
        let fires: Vec<String> = timetable
            .fires_after(after)
            .take(case.next.len())
            .map(|fire| fire.at.to_string())
            .collect();
        assert_eq!(fires, case.next, "{} in {} after {after}", case.cron, case.zone);
    }
}

#[test]
fn the_answer_does_not_depend_on_where_the_search_starts() {
    for case in cases().next {
        let timetable = timetable(&case);
        let second_of = |at: &String| at.parse::<Timestamp>().unwrap().as_second();
        let (after, fires) = (
            second_of(&case.after),
            case.next.iter().map(second_of).collect::<Vec<_>>(),
        );
        for second in (after..after + 6 * 86_400)
            .step_by(61)
            .chain(fires.iter().flat_map(|at| at - 3..at + 3))
        {
            let Some(expected) = fires.iter().find(|at| **at > second && second >= after) else {
                continue;
            };
            let found = timetable
                .next_after(Timestamp::from_second(second).unwrap())
                .unwrap();
            assert_eq!(
                found.at.as_second(),
                *expected,
                "{} in {} after {second}",
                case.cron,
                case.zone
            );
        }
    }
}

#[test]
fn every_rejected_expression_is_refused_with_a_sentence_and_a_hint() {
    let cases = cases();
    assert!(cases.rejected.len() >= 10);
    for Rejected { cron } in cases.rejected {
        let error = Timing::parse(&cron, None).expect_err(&cron);
        assert!(
            error.to_string().contains(' ') && !error.hint().is_empty(),
            "{cron}: {error}"
        );
    }
}

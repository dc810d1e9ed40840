//! A calendar of working days over two weeks, and its end.

use gengfu_integration_tests::eventually;
use serde_json::json;

use crate::{
    scheduling::{
        clock::StoreClock,
        ledger::{fired, rfc3339},
        webhook::Webhook,
    },
    town::{LIMIT, Town, ready},
};

const DAY: i64 = 86_400;
/// Nine o'clock in Shanghai on Friday, 2027-04-30.
const FRIDAY: i64 = 1_809_046_800;
/// Nine o'clock there on Monday, 2028-01-03, the first working day that the calendar does not cover.
const UNCOVERED: i64 = 1_830_474_000;
/// How long after the hour the clock is set.
const PAST: i64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_make_up_saturday_fires_a_holiday_monday_does_not_and_the_end_is_told_of_before_it_comes() {
    let mut webhook = Webhook::start().await;
    let [url, secret] = webhook.settings();
    let mut town = Town::start_with(&[(url.0, &url.1), (secret.0, &secret.1)]).await;
    let clock = StoreClock::start_at(&town, FRIDAY - 10 * PAST).await;
    town.declare(&json!([{"name": "say", "handler": "echo"}])).await;
    let body = json!({
        "calendars": [{"name": "cn", "years": "2027", "off": ["2027-05-03"], "on": ["2027-05-08"]}],
        "schedules": [
            {"name": "work", "type": "say", "zone": "Asia/Shanghai", "cron": "0 9 * * *", "calendar": "cn"},
            {"name": "daily", "type": "say", "zone": "Asia/Shanghai", "cron": "0 9 * * *"},
        ],
    });
    let answer = town.api.post("/api/v1/apply", &body).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());

    // Friday, then Saturday 1 to Monday 10 May: the 3rd is a day off, the 8th a Saturday of work.
    let works = [0, 4, 5, 6, 7, 8, 10].map(|day| FRIDAY + day * DAY);
    for day in 0..=10 {
        let nine = FRIDAY + day * DAY;
        clock.set(nine + PAST).await;
        town.passed("daily", nine).await;
        if works.contains(&nine) {
            town.passed("work", nine).await;
        }
    }
    assert_eq!(town.ledger("work", DAY).await, works.map(fired));
    assert_eq!(town.ledger("daily", DAY).await.len(), 11);
    town.check_tasks(&["work".to_owned(), "daily".to_owned()], "say")
        .await;
    assert!(webhook.is_empty(), "told half a year too early");

    // Six weeks before the first uncovered day.
    town.scheduler().kill();
    clock.set(UNCOVERED - 42 * DAY + PAST).await;
    let heir = town.role("scheduler").start().unwrap();
    ready(&heir).await;
    let notice = webhook.next().await.body;
    assert_eq!(
        (&notice["kind"], &notice["schedule"], &notice["planned_at"]),
        (
            &json!("uncovered_calendar"),
            &json!("work"),
            &json!(rfc3339(UNCOVERED))
        )
    );
    let text = notice["text"].as_str().unwrap();
    assert!(text.contains("calendar cn does not cover 2028"), "{text}");
    let line = r#""kind":"uncovered_calendar","schedule":"work""#;
    heir.output().wait_for(line, LIMIT).unwrap();
    let api = heir.api().unwrap();
    eventually!({
        let metrics = api.get("/metrics").await.unwrap().text();
        metrics.contains("gengfu_uncovered_calendars_total 1\n")
    });

    // With the days of that year nobody is told of it again, and its holiday counts.
    let body = json!({"calendars": [{"name": "cn", "years": "2027-2028", "off": ["2028-01-03"]}]});
    let answer = town.api.post("/api/v1/apply", &body).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
    clock.set(UNCOVERED + DAY + PAST).await;
    town.passed("work", UNCOVERED + DAY).await;
    let fires = town.records("work").await;
    let at = |instant| {
        fires
            .iter()
            .any(|record| record["planned_at"] == rfc3339(instant) && record["outcome"] == "fired")
    };
    assert!(at(UNCOVERED + DAY) && !at(UNCOVERED), "{fires:?}");
    assert!(webhook.is_empty(), "told again");
}

//! The watchdog, and the alert before a calendar ends.

use std::time::Duration;

use domain::Millis;
use gengfu_integration_tests::eventually;
use store::PutSchedule;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    schedules::plan,
    town::{NOW, SOON, Town},
};

const DAY: Millis = 86_400_000;

/// A schedule that the index of due ones forgot: it stands there for next year.
fn forgotten(name: &str) -> PutSchedule {
    let definition = format!(r#"{{"name":"{name}","zone":"UTC","type":"t","every":"10s"}}"#);
    let plan = plan(&definition, None);
    PutSchedule {
        name: name.to_owned(),
        spec: plan.schedule().to_json().into(),
        overlap: domain::Overlap::Allow,
        queue_max: 1,
        max_fires: 0,
        seen: None,
        anchor: NOW,
        next: NOW + 10_000,
        due: NOW + 365 * DAY,
        owed: Vec::new(),
    }
}

/// Takes one POST, answers it with a status, and gives it whole.
async fn post(listener: &TcpListener, status: &str) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut text = Vec::new();
    let mut part = [0; 4_096];
    while !text.ends_with(b"}") {
        let read = stream.read(&mut part).await.unwrap();
        text.extend_from_slice(&part[..read]);
    }
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn an_instant_without_a_record_is_told_once_and_those_with_one_are_not() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let town = Town::standing().await;
    town.declare("t").await;
    town.put_raw(forgotten("forgotten")).await;
    town.put("fine", r#""type":"t","every":"10s""#).await;
    town.put("spread", r#""type":"t","cron":"* * * * *","spread":"50s""#)
        .await;
    town.put("paused", r#""type":"t","every":"10s""#).await;
    town.pause("paused").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let running = town.start_as("n1", |config| {
        config.absence_grace = Duration::from_secs(30);
        config.webhook = scheduler::Webhook {
            url,
            secret: "key".into(),
        };
    });
    let shown = |count: u32| {
        let line = format!("gengfu_absent_triggers_total {count}\n");
        running.metrics.render().contains(&line)
    };
    let fires = |ten: i64| NOW + ten * 10_000;
    for ten in 1..=12 {
        town.store.clock().advance(10_000);
        eventually!(town.cursor("fine").await == fires(ten));
    }
    let taken = tokio::time::timeout(SOON, async {
        // It is tried again where it is not taken.
        post(&listener, "503 Service Unavailable").await;
        post(&listener, "204 No Content").await
    });
    // Two looks: the second confirms the first. Seventeen of its instants are older than the grace by then.
    town.store.clock().advance(80_000);
    eventually!({
        town.store
            .clock()
            .advance(if town.now() < NOW + 209_000 { 250 } else { 0 });
        shown(17)
    });
    let message = taken.await.unwrap();
    assert!(
        message.contains(r#""kind":"absent_trigger","schedule":"forgotten""#),
        "{message}"
    );
    assert!(message.contains("gengfu-signature: sha256="), "{message}");
    eventually!(
        running
            .metrics
            .render()
            .contains(r#"gengfu_notices_total{end="sent"} "#)
    );
    assert!(town.fired("fine").await.len() > 12);
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn a_year_that_the_calendar_does_not_cover_is_told_of_before_it_begins() {
    let town = Town::standing().await;
    town.declare("t").await;
    let calendar = town.put_calendar("cn", r#"{"name":"cn","years":"2025"}"#).await;
    town.put_with(
        "work",
        r#""type":"t","cron":"0 9 * * *","calendar":"cn""#,
        Some(&calendar),
    )
    .await;
    let far = town
        .put_calendar("far", r#"{"name":"far","years":"2025-2027"}"#)
        .await;
    town.put_with(
        "later",
        r#""type":"t","cron":"0 9 * * *","calendar":"far""#,
        Some(&far),
    )
    .await;
    let running = town.start("n1");
    let alerts = |count: u32| {
        let line = format!("gengfu_uncovered_calendars_total {count}\n");
        running.metrics.render().contains(&line)
    };
    eventually!(alerts(1));
    // Another look, after a change of calendars, tells nothing twice.
    town.put_calendar("third", r#"{"name":"third","years":"2025"}"#)
        .await;
    town.put_with(
        "third",
        r#""type":"t","cron":"0 8 * * *","calendar":"third""#,
        Some(&calendar),
    )
    .await;
    eventually!(alerts(2));
    assert!(running.stop().await.is_clean());
}

#[tokio::test]
async fn a_calendar_that_brings_a_day_forward_is_heeded() {
    let town = Town::standing().await;
    town.declare("t").await;
    // NOW is a Sunday: the next working day is Monday.
    let calendar = town.put_calendar("cn", r#"{"name":"cn","years":"2025"}"#).await;
    town.put_with(
        "work",
        r#""type":"t","cron":"0 9 * * *","calendar":"cn""#,
        Some(&calendar),
    )
    .await;
    let running = town.start("n1");
    town.put_calendar("cn", r#"{"name":"cn","years":"2025","on":["2025-11-30"]}"#)
        .await;
    let nine = NOW + 9 * 3_600_000;
    let next = async || {
        use store::PlanStore;
        town.store.schedule("work").await.unwrap().unwrap().plan.next
    };
    eventually!(next().await == nine);
    town.store.clock().advance(9 * 3_600_000);
    eventually!(town.fired("work").await == [nine]);
    assert!(running.stop().await.is_clean());
}

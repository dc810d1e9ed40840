//! Batches: counts, results, and their end.

use serde_json::{Value, json};

use crate::town::Town;

const BATCH: &str = "0192f0c1-2d3e-7abc-8def-0123456789ab";

async fn town(rows: u32) -> (Town, Vec<String>) {
    let town = Town::start().await;
    town.declare(json!({"name": "t", "handler": "echo"})).await;
    let tasks: Value = (0..rows)
        .map(|row| json!({"payload": {"n": row}, "batch_row": row + 2}))
        .collect();
    let body = json!({"defaults": {"task_type": "t", "batch_id": BATCH}, "tasks": tasks});
    let answer = town.post("/api/v1/tasks:batch", body).await.json();
    let ids = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["task_id"].as_str().unwrap().to_owned());
    let ids = ids.collect();
    (town, ids)
}

#[tokio::test]
async fn a_batch_is_counted_by_every_status() {
    let (town, ids) = town(3).await;
    town.succeed(&ids[0], b"1", b"").await;
    town.kill(&ids[1]).await;
    let shown = town.get(&format!("/api/v1/batches/{BATCH}")).await.json();
    let expected = json!({
        "pending": 1, "running": 0, "success": 1, "failed": 0, "retrying": 0, "timeout": 0, "dead": 1, "cancelled": 0,
    });
    assert_eq!(
        (&shown["total"], &shown["counts"], &shown["finished"]),
        (&json!(3), &expected, &json!(false))
    );
    town.succeed(&ids[2], b"1", b"").await;
    assert_eq!(
        town.get(&format!("/api/v1/batches/{BATCH}")).await.json()["finished"],
        true
    );
    let listed = town.get("/api/v1/batches").await.json();
    assert_eq!(
        (&listed["items"][0]["batch_id"], &listed["items"][0]["total"]),
        (&json!(BATCH), &json!(3))
    );
}

#[tokio::test]
async fn results_come_in_three_formats() {
    let (town, ids) = town(2).await;
    town.succeed(&ids[0], br#""said, ""#, b"").await;
    town.kill(&ids[1]).await;
    let path = format!("/api/v1/batches/{BATCH}/results");
    let mut rows = town.get(&path).await.json()["items"].as_array().unwrap().clone();
    rows.sort_by_key(|row| row["row"].as_u64());
    assert_eq!(
        (&rows[0]["row"], &rows[0]["input"], &rows[0]["result"]),
        (&json!(2), &json!({"n": 0}), &json!("said, "))
    );
    assert_eq!(
        (&rows[1]["status"], &rows[1]["error"], &rows[1]["attempts"]),
        (&json!("dead"), &json!("the endpoint said no"), &json!(1))
    );
    let text = town.get(&format!("{path}?format=jsonl")).await.text();
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines.sort_by_key(|row| row["row"].as_u64());
    assert_eq!(lines, rows);
    let text = town.get(&format!("{path}?format=csv")).await.text();
    assert!(
        text.starts_with("row,task_id,status,attempts,started,finished,input,result,error\n"),
        "{text}"
    );
    assert!(text.contains(r#""{""n"":0}","said, ","#), "{text}");
    assert_eq!(text.lines().count(), 3);
    assert_eq!(town.get(&format!("{path}?format=xml")).await.status, 400);
}

#[tokio::test]
async fn results_of_many_rows_come_whole() {
    let (town, ids) = town(700).await;
    let text = town
        .get(&format!("/api/v1/batches/{BATCH}/results?format=csv"))
        .await
        .text();
    assert_eq!(text.lines().count(), 701);
    assert!(ids.iter().all(|id| text.contains(id)));
}

#[tokio::test]
async fn cancelling_a_batch_stops_what_has_not_ended() {
    let (town, ids) = town(100).await;
    town.succeed(&ids[0], b"1", b"").await;
    town.claim(&ids[1]).await;
    let answer = town
        .post(
            &format!("/api/v1/batches/{BATCH}/cancel"),
            json!({"reason": "wrong file"}),
        )
        .await
        .json();
    let counts = (
        &answer["cancelled"],
        &answer["stopping"],
        &answer["ended"],
        &answer["next"],
    );
    assert_eq!(counts, (&json!(98), &json!(1), &json!(1), &json!(null)));
    let shown = town.get(&format!("/api/v1/batches/{BATCH}")).await.json();
    assert_eq!(
        (&shown["counts"]["cancelled"], &shown["counts"]["running"]),
        (&json!(98), &json!(1))
    );
}

#[tokio::test]
async fn a_sealed_batch_is_finished_when_all_its_rows_are() {
    let (town, ids) = town(2).await;
    town.declare(json!({"name": "report", "handler": "echo"})).await;
    let path = format!("/api/v1/batches/{BATCH}");
    assert_eq!(town.get(&path).await.json()["sealed"], Value::Null);
    for id in &ids {
        town.succeed(id, b"1", b"").await;
    }
    let seal = json!({"total": 3, "then": "report"});
    let answer = town.post(&format!("{path}/seal"), seal.clone()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let said = json!({"total": 3, "then": "report", "task_id": null});
    assert_eq!(
        (&answer.json()["sealed"], &answer.json()["finished"]),
        (&said, &json!(false)),
        "a row is still to come"
    );
    assert_eq!(
        town.post(&format!("{path}/seal"), seal).await.status,
        200,
        "the same again"
    );
    let other = town.post(&format!("{path}/seal"), json!({"total": 3})).await;
    assert_eq!(other.status, 409);
    assert!(other.text().contains("report follows"), "{}", other.text());
    assert_eq!(town.get(&path).await.json()["sealed"], said);
}

#[tokio::test]
async fn a_seal_that_makes_no_sense_is_refused() {
    let (town, _) = town(2).await;
    let path = format!("/api/v1/batches/{BATCH}/seal");
    for (body, status, says) in [
        (json!({"total": 2, "then": "nobody.knows"}), 422, "nobody.knows"),
        (json!({"total": 2, "then": ""}), 422, "then"),
        (json!({"total": 1}), 409, "has 2 tasks already"),
        (json!({"then": "t"}), 400, "total"),
        (json!({"total": -1}), 400, "total"),
        (json!({"total": 2, "than": "t"}), 400, "than"),
    ] {
        let answer = town.post(&path, body.clone()).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert!(answer.text().contains(says), "{body}: {}", answer.text());
    }
    let unknown = "/api/v1/batches/0192f0c1-2d3e-7abc-8def-00000000abcd";
    let answer = town.post(&format!("{unknown}/seal"), json!({"total": 2})).await;
    assert_eq!(answer.status, 404, "{}", answer.text());
    // Of no rows a batch may be sealed: an empty file is followed too.
    let answer = town
        .post(&format!("{unknown}/seal"), json!({"total": 0, "then": "t"}))
        .await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json()["finished"]),
        (200, &json!(true))
    );
    assert_eq!(town.get(unknown).await.json()["sealed"]["then"], "t");
}

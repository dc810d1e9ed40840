//! Compares the tasks of a partition with its events: pass by pass, each over one share of the tasks.

use std::collections::HashSet;

use domain::{Partition, TaskId, Token};
use store::{AUDIT_PAGE, AuditedTask};

use crate::{
    Audit, Error,
    book::{Book, Entry, Share, mark_of_item},
    report::Report,
    stream::{Found, Reading},
    suspects::Suspects,
    task,
};

/// Looks at every task of a partition, and at every event.
pub(crate) async fn look(
    audit: &Audit,
    partition: Partition,
    tokens: &mut HashSet<Token>,
    report: &mut Report,
) -> Result<(), Error> {
    let mut todo = vec![Share::ALL];
    let mut first = true;
    while let Some(share) = todo.pop() {
        let book = pass(audit, partition, share, first, tokens, report).await?;
        todo.extend(book.left);
        first = false;
    }
    Ok(())
}

/// One pass. The order of reading leaves no doubt: what stood in the stream before the store was read must stand in the
/// store, and what stood in the store before the outbox was read stands in the outbox or in the stream after that.
async fn pass(
    audit: &Audit,
    partition: Partition,
    share: Share,
    first: bool,
    tokens: &mut HashSet<Token>,
    report: &mut Report,
) -> Result<Book, Error> {
    let mut reading = Reading::new(audit.since);
    let mut book = Book::new(share);
    reading
        .read(audit, partition, |found| write(&mut book, found, first, report))
        .await?;
    report.count("tasks in the stream", book.entries.len() as u64);
    let mut suspects = Suspects::default();
    walk(audit, partition, &mut book, &mut suspects, tokens, report).await?;
    unmet(audit, partition, &mut book, &mut suspects, report).await?;
    outbox(audit, partition, &mut suspects, report).await?;
    if !suspects.is_empty() {
        reading
            .read(audit, partition, |found| {
                if let Found::Event(event) = found {
                    suspects.found(&event);
                }
            })
            .await?;
    }
    let span = audit.bus.events_span().await?;
    suspects.judge(reading.horizon(&span), report);
    Ok(book)
}

fn write(book: &mut Book, found: Found, first: bool, report: &mut Report) {
    match found {
        Found::Event(event) => match book.write(&event) {
            Ok(true) => report.count("events", 1),
            Ok(false) if book.share.holds(&event.task_id) => report.count("events repeated", 1),
            Ok(false) => {}
            Err(contradiction) => {
                let text = format!(
                    "the stream holds two different transitions of version {}",
                    contradiction.version
                );
                report.exception("I2", event.task_id, text);
            }
        },
        Found::Undecodable(seq) if first => {
            report.exception(
                "I2",
                format!("message {seq} of the stream"),
                "it can't be decoded",
            );
        }
        Found::Undecodable(_) => {}
    }
}

/// Goes through the list of all tasks.
async fn walk(
    audit: &Audit,
    partition: Partition,
    book: &mut Book,
    suspects: &mut Suspects,
    tokens: &mut HashSet<Token>,
    report: &mut Report,
) -> Result<(), Error> {
    let share = book.share;
    let mut cursor = Some(0);
    while let Some(at) = cursor {
        let wanted = |id: &TaskId| share.holds(id);
        let page = audit.store.audit_page(partition, at, &wanted).await?;
        for one in &page.tasks {
            task::look(one, page.now, tokens, report);
            if !one.task.idempotency_key.is_empty() {
                report.count("idempotency keys", 1);
            }
            report.count("payload bytes", one.payload.len() as u64);
            let entry = book.entries.get_mut(&one.task.id);
            compare(one, entry, suspects, report);
        }
        cursor = page.next;
    }
    Ok(())
}

/// A task's timeline against what the stream holds of it.
fn compare(one: &AuditedTask, entry: Option<&mut Entry>, suspects: &mut Suspects, report: &mut Report) {
    let (id, version) = (one.task.id, one.task.version);
    let mut unknown = Entry::default();
    let entry = entry.unwrap_or(&mut unknown);
    entry.met = true;
    if let Some((last, status)) = entry.last.filter(|(last, _)| *last > version) {
        let text = format!(
            "the stream knows version {last} ({}), the store stands at {version}: it stepped back",
            status.as_str()
        );
        report.exception("I2", id, text);
    }
    for item in &one.timeline {
        match entry.mark(item.version) {
            None => suspects.missing(id, item.version, item.at),
            Some(mark) if mark == mark_of_item(item) => {}
            Some(_) => {
                let text = format!(
                    "version {} differs between its timeline and the stream",
                    item.version
                );
                report.exception("I2", id, text);
                break;
            }
        }
    }
}

/// What the stream holds and the walk did not meet: gone by retention, lost, or left out of the list of all tasks.
async fn unmet(
    audit: &Audit,
    partition: Partition,
    book: &mut Book,
    suspects: &mut Suspects,
    report: &mut Report,
) -> Result<(), Error> {
    let unmet = book.entries.iter().filter(|(_, entry)| !entry.met);
    let ids: Vec<_> = unmet.map(|(id, _)| *id).collect();
    for part in ids.chunks(AUDIT_PAGE) {
        let found = audit.store.audit_tasks(partition, part).await?;
        let there: HashSet<_> = found.tasks.iter().map(|one| one.task.id).collect();
        for id in part {
            let Some(entry) = book.entries.get(id) else {
                continue;
            };
            if there.contains(id) {
                report.exception("I9", id, "it is in the store and not in the list of all tasks");
                continue;
            }
            report.count("tasks that have left the store", 1);
            if let Some(last) = entry.last {
                suspects.lost(*id, last);
            }
            gone(*id, entry, audit.since.is_some(), report);
        }
    }
    Ok(())
}

/// A task that has left the store was recorded whole before that.
fn gone(id: TaskId, entry: &Entry, cut: bool, report: &mut Report) {
    let (first, holes) = entry.holes();
    if !holes.is_empty() {
        let text = format!("it has left the store, and the stream lacks its versions {holes:?}");
        report.exception("I2", id, text);
    } else if first > 1 && !cut {
        // What went before may have left the stream by its age or size.
        report.trimmed("first transitions of tasks that have left the store", 1);
    }
}

async fn outbox(
    audit: &Audit,
    partition: Partition,
    suspects: &mut Suspects,
    report: &mut Report,
) -> Result<(), Error> {
    let mut after: Option<String> = None;
    loop {
        let entries = audit.store.outbox_after(partition, after.as_deref()).await?;
        let Some(last) = entries.last() else {
            return Ok(());
        };
        after = Some(last.id.clone());
        for event in entries.iter().flat_map(|entry| &entry.events) {
            if suspects.found(event) {
                report.in_flight("transitions in the outbox", 1);
            }
        }
    }
}

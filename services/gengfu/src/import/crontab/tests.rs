use super::*;

fn schedule<'d>(draft: &'d Draft, name: &str) -> &'d Map<String, Value> {
    let found = draft.schedules.iter().find(|item| item.fields["name"] == name);
    &found
        .unwrap_or_else(|| panic!("{name} in {:?}", draft.schedules))
        .fields
}

fn command(draft: &Draft, name: &str) -> Value {
    let found = draft
        .types
        .iter()
        .find(|item| item.fields["name"] == format!("cron.{name}"));
    found
        .unwrap_or_else(|| panic!("{name} in {:?}", draft.types))
        .fields["command"]
        .clone()
}

fn left_out(draft: &Draft) -> Vec<u64> {
    draft
        .notes
        .iter()
        .filter(|note| note.left_out)
        .map(|note| note.line)
        .collect()
}

#[test]
fn lines_become_types_and_schedules() {
    let draft = read(
        "# the nightly copy\n\
         0 2 * * * /usr/local/bin/backup.sh --all # of everything\n\
         \n\
         # not about the next line\n\
         \n\
         @daily cd /srv/app && ./cleanup\n\
         */15 8-18 * * mon-fri env LANG=C /opt/poll\n",
        "Asia/Shanghai",
        false,
    );
    assert_eq!(draft.notes, []);
    let backup = schedule(&draft, "backup-sh");
    assert_eq!(
        (&backup["cron"], &backup["zone"]),
        (&json!("0 2 * * *"), &json!("Asia/Shanghai"))
    );
    assert_eq!(
        draft.schedules[0].comments,
        [
            "line 2: 0 2 * * * /usr/local/bin/backup.sh --all # of everything",
            "the nightly copy"
        ]
    );
    assert_eq!(draft.schedules[1].comments.len(), 1);
    assert_eq!(
        command(&draft, "backup-sh"),
        json!({"program": "sh", "args": ["-c", "/usr/local/bin/backup.sh --all # of everything"]})
    );
    assert_eq!(schedule(&draft, "cleanup")["cron"], "@daily");
    assert_eq!(schedule(&draft, "poll")["misfire"], "skip");
    assert_eq!(draft.types[0].fields["max_retry"], 0);
}

#[test]
fn settings_hold_for_the_lines_below_them() {
    let draft = read(
        "SHELL=/bin/bash\nPATH = \"/opt/bin:/bin\"\nHOME=/srv/a\nTZ=UTC\nMAILTO=root\nMAILTO=\"\"\n\
         0 1 * * * one\nCRON_TZ=Europe/Berlin\nRANDOM_DELAY=30\n0 2 * * * two\nCRON_TZ=Nowhere\n0 3 * * * three\n",
        "UTC",
        false,
    );
    assert_eq!(schedule(&draft, "one")["zone"], "UTC");
    assert_eq!(schedule(&draft, "two")["zone"], "Europe/Berlin");
    assert_eq!(schedule(&draft, "two")["spread"], "30m");
    assert_eq!(
        command(&draft, "one"),
        json!({"program": "/bin/bash", "args": ["-c", "one"], "cwd": "/srv/a",
            "env": {"PATH": "/opt/bin:/bin", "HOME": "/srv/a", "TZ": "UTC"}})
    );
    assert_eq!(left_out(&draft), [5, 12]);
    assert!(
        draft.notes.last().unwrap().reason.contains("CRON_TZ above"),
        "{:?}",
        draft.notes
    );
}

#[test]
fn percent_signs_are_standard_input() {
    assert_eq!(
        split_percent("mail root%Hi,%100\\%%"),
        ("mail root".into(), Some("Hi,\n100%\n".into()))
    );
    assert_eq!(split_percent("date +\\%F"), ("date +%F".into(), None));
    assert_eq!(split_percent("cat %"), ("cat".into(), Some(String::new())));
    let draft = read("0 1 * * * cat%a%b\n", "UTC", false);
    assert_eq!(
        command(&draft, "cat")["args"][1],
        "printf '%s\\n' \"$1\" | {\ncat\n}"
    );
    assert_eq!(command(&draft, "cat")["args"][3], "a\nb");
}

#[test]
fn a_system_crontab_has_a_column_for_the_user() {
    let draft = read(
        "17 * * * * www-data run-parts /etc/cron.hourly\n0 1 * * * root\n",
        "UTC",
        true,
    );
    assert_eq!(
        command(&draft, "run-parts")["args"][1],
        "run-parts /etc/cron.hourly"
    );
    assert!(draft.notes[0].reason.contains("www-data") && !draft.notes[0].left_out);
    assert_eq!(left_out(&draft), [2]);
}

#[test]
fn what_has_no_counterpart_is_told_with_its_line() {
    let draft = read(
        "@reboot /start\n*/90 * * * * /a\n0 0 30 2 * /b\n@every_minute /c\n0 9 * *\nnonsense\n0 9 * * * /fine\n",
        "UTC",
        false,
    );
    assert_eq!(left_out(&draft), [1, 2, 3, 4, 5, 6]);
    assert!(
        draft.notes[1]
            .to_string()
            .contains("line 2: a: left out: cron: the step 90"),
        "{}",
        draft.notes[1]
    );
    assert_eq!((draft.schedules.len(), draft.types.len()), (1, 1));
}

#[test]
fn names_say_what_runs_and_are_given_once() {
    for (command, name) in [
        ("/usr/bin/php -f /srv/cron.php", "php"),
        ("cd /srv && nice -n 5 ./run.py", "run-py"),
        ("FOO=1 BAR=2 sync-all", "sync-all"),
        ("[ -x /a ] && /a", "a"),
        ("$HOME/bin/x", "x"),
        (":", "command"),
    ] {
        assert_eq!(name_of(command), name, "{command}");
    }
    let draft = read("0 1 * * * /a/job\n0 2 * * * /b/job\n", "UTC", false);
    assert_eq!(
        (
            schedule(&draft, "job")["cron"].clone(),
            schedule(&draft, "job-2")["cron"].clone()
        ),
        (json!("0 1 * * *"), json!("0 2 * * *"))
    );
}

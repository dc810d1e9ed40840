use super::*;

fn load(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Loaded, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gengfu.toml");
    std::fs::write(&path, file).unwrap();
    let own = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let flags = own(flags).into_iter().collect();
    Sources {
        file: Some(path),
        environment: own(environment),
        flags,
    }
    .load()
}

fn refusal(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> String {
    let error = load(file, environment, flags).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "one sentence: {error}");
    error
}

#[test]
fn the_default_file_is_the_defaults() {
    assert_eq!(load(DEFAULT_FILE, &[], &[]).unwrap().config, Config::default());
    assert_eq!(load("", &[], &[]).unwrap().config, Config::default());
    let shown: toml::Table = DEFAULT_FILE.parse().unwrap();
    assert_eq!(
        shown,
        toml::Table::try_from(Config::default()).unwrap(),
        "a key is missing"
    );
}

#[test]
fn every_key_of_the_default_file_has_a_comment() {
    let lines: Vec<&str> = DEFAULT_FILE.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains(" = ")) {
        assert!(line.starts_with('#') || lines[at - 1].starts_with("# "), "{line}");
    }
}

#[test]
fn a_later_source_wins() {
    let file = "[nats]\nurl = \"nats://file:1\"\nreplicas = 3\n[log]\nlevel = \"warn\"";
    let environment = [
        ("GENGFU_NATS__URL", "nats://env:1"),
        ("GENGFU_LOG__LEVEL", "debug"),
    ];
    let config = load(file, &environment, &[("log.level", "trace")])
        .unwrap()
        .config;
    assert_eq!(config.nats.replicas, 3);
    assert_eq!(config.nats.url.expose(), "nats://env:1");
    assert_eq!(config.log.level, "trace");
    assert_eq!(config.redis, Redis::default());
}

#[test]
fn texts_become_what_the_key_holds() {
    let environment = [
        ("GENGFU_EXECUTOR__ID", "7"),
        ("GENGFU_EXECUTOR__CONCURRENCY", "8"),
        ("GENGFU_EXECUTOR__LEASE", "3s"),
        ("GENGFU_EXECUTOR__COMMANDS", "/bin/true, /bin/echo"),
        ("GENGFU_AUTH__REQUIRED", "true"),
        ("GENGFU_TELEMETRY__SAMPLE_RATIO", "0.25"),
        ("GENGFU__LISTEN", "127.0.0.1:0"),
    ];
    let config = load("", &environment, &[("telemetry.sample_ratio", "1")])
        .unwrap()
        .config;
    assert_eq!(config.executor.id, "7");
    assert_eq!(config.executor.concurrency, 8);
    assert_eq!(config.executor.lease.as_ms(), 3_000);
    assert_eq!(config.executor.commands, ["/bin/true", "/bin/echo"]);
    assert!(config.auth.required);
    assert_eq!(config.telemetry.sample_ratio, 1.0);
    assert_eq!(config.listen_or("x"), "127.0.0.1:0");
    let listed = load("", &[("GENGFU_EXECUTOR__COMMANDS", r#"["/bin/a,b"]"#)], &[])
        .unwrap()
        .config;
    assert_eq!(listed.executor.commands, ["/bin/a,b"]);
}

#[test]
fn an_unknown_key_names_the_nearest() {
    for (refused, nearest) in [
        (refusal("[nats]\nurls = \"x\"", &[], &[]), "nats.url"),
        (refusal("lissten = \"x\"", &[], &[]), "listen"),
        (refusal("[redis.url]\nhost = \"x\"", &[], &[]), "redis.url"),
        (refusal("[exekutor]\nlease = \"3s\"", &[], &[]), "executor.lease"),
        (refusal("", &[("GENGFU_LOG__LEVELS", "info")], &[]), "log.level"),
        (
            refusal("", &[], &[("dispatcher.windows", "1s")]),
            "dispatcher.window",
        ),
    ] {
        assert!(
            refused.ends_with(&format!("is unknown; did you mean {nearest}?")),
            "{refused}"
        );
    }
    assert!(refusal("", &[("GENGFU_LOG__LEVELS", "x")], &[]).contains("GENGFU_LOG__LEVELS"));
}

#[test]
fn a_bad_value_is_one_sentence_with_key_and_place() {
    for (key, text, hint) in [
        ("executor.lease", "soon", "30s"),
        ("executor.lease", "10ms", "1s"),
        ("executor.concurrency", "many", "many"),
        ("executor.concurrency", "-1", "-1"),
        ("executor.concurrency", "0", "65536"),
        ("executor.pool", "A B", "a-z"),
        ("log.format", "xml", "json or text"),
        ("log.level", "loud", "debug"),
        ("listen", "7420", "127.0.0.1:7420"),
        ("nats.url", "http://x", "nats://127.0.0.1:4222"),
        ("redis.url", "", "redis://127.0.0.1:6379"),
        ("redis.partitions", "70000", "70000"),
        ("auth.required", "perhaps", "perhaps"),
        ("telemetry.sample_ratio", "2", "0 to 1"),
        (
            "telemetry.otlp_endpoint",
            "localhost:4318",
            "http://127.0.0.1:4318",
        ),
    ] {
        let refused = refusal("", &[], &[(key, text)]);
        assert!(
            refused.starts_with(&format!("{key} in flag --{key}: ")),
            "{refused}"
        );
        assert!(refused.contains(hint), "{refused}");
    }
    assert!(refusal("[executor]\nlease = 30", &[], &[]).starts_with("executor.lease in configuration file"));
    assert!(refusal("nats = 3", &[], &[]).starts_with("nats in configuration file"));
}

#[test]
fn every_form_of_an_address_is_taken() {
    for (key, address) in [
        ("nats.url", "nats://a:4222, tls://b:4222"),
        ("redis.url", "rediss://user:word@a:6380/0"),
        ("redis.url", "redis+cluster://user:word@a:1,b:2?tls=true"),
        ("redis.url", "redis+sentinel://a:26379,b:26379/town"),
    ] {
        let loaded = load("", &[], &[(key, address)]).unwrap();
        let config = loaded.config;
        let kept = if key == "nats.url" {
            config.nats.url
        } else {
            config.redis.url
        };
        assert_eq!(kept.expose(), address);
    }
    assert!(refusal("", &[], &[("nats.url", "nats://a:4222,b:4222")]).contains("nats.url"));
    assert!(refusal("", &[], &[("nats.url", "wss://a")]).contains("nats.url"));
}

#[test]
fn a_broken_file_names_the_line() {
    let refused = refusal("[nats]\nreplicas = 1\nurl = \n", &[], &[]);
    assert!(refused.contains("line 3"), "{refused}");
    let sources = Sources {
        file: Some("/no/such/gengfu.toml".into()),
        ..Sources::default()
    };
    assert!(
        sources
            .load()
            .unwrap_err()
            .to_string()
            .contains("/no/such/gengfu.toml")
    );
}

#[test]
fn foreign_names_in_the_environment_warn() {
    let environment = [
        ("GENGFU_GATEWAY_SERVICE_HOST", "10.0.0.1"),
        ("GENGFU_SERVER", "http://x"),
        ("GENGFU_TOKEN", "t"),
        ("GENGFU_NATS_SERVER", "/bin/nats-server"),
        ("GENGFU_REDIS_SERVER", "/bin/redis-server"),
        ("GENGFU_SECRET_SMTP", "s"),
        ("GENGFU_SECRET_A__B", "s"),
        ("HOME", "/"),
    ];
    let loaded = load("", &environment, &[]).unwrap();
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.warnings.len(), 1);
    assert!(loaded.warnings[0].starts_with("GENGFU_GATEWAY_SERVICE_HOST "));
}

#[test]
fn no_password_is_shown() {
    let file =
        "[redis]\nurl = \"redis://ann:hunter2@h:1\"\n[nats]\nurl = \"nats://hunter2@a,nats://u:hunter2@b\"";
    let config = load(file, &[], &[]).unwrap().config;
    let shown = format!(
        "{} {config:?} {} {}",
        config.print(),
        config.redis.url,
        config.nats.url
    );
    assert!(
        !shown.contains("hunter2") && shown.contains("redis://ann:***@h:1"),
        "{shown}"
    );
    assert!(config.nats.url.expose().contains("hunter2"));
    assert!(!refusal("[redis]\nurl = \"redes://ann:hunter2@h:1\"", &[], &[]).contains("hunter2"));
    let again: toml::Table = config.print().parse().unwrap();
    assert_eq!(again["executor"]["lease"].as_str(), Some("30s"));
}

//! A line of a shell as a type of the `command` handler.

use serde_json::{Map, Value, json};

/// What a shell is to run.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    /// The shell's program.
    pub(crate) program: String,
    /// The line or script.
    pub(crate) script: String,
    /// What the script finds as $1, $2, …
    pub(crate) arguments: Vec<String>,
    /// What it reads from its standard input.
    pub(crate) stdin: Option<String>,
    /// Variables of its environment.
    pub(crate) env: Map<String, Value>,
    /// Where it starts.
    pub(crate) cwd: Option<String>,
}

impl Shell {
    /// The section `command` of a type. A text for standard input travels as an argument, as the payload is JSON.
    pub(crate) fn section(&self) -> Value {
        let mut args = vec!["-c".to_owned()];
        match &self.stdin {
            // The script stands on lines of its own, so that a comment at its end hides nothing.
            Some(stdin) => {
                args.push(format!("printf '%s\\n' \"$1\" | {{\n{}\n}}", self.script));
                args.extend(["sh".to_owned(), stdin.clone()]);
            }
            None if self.arguments.is_empty() => args.push(self.script.clone()),
            None => {
                args.extend([self.script.clone(), "sh".to_owned()]);
                args.extend(self.arguments.iter().cloned());
            }
        }
        let mut section = Map::new();
        section.insert("program".into(), json!(self.program));
        section.insert("args".into(), json!(args));
        if !self.env.is_empty() {
            section.insert("env".into(), Value::Object(self.env.clone()));
        }
        if let Some(cwd) = &self.cwd {
            section.insert("cwd".into(), json!(cwd));
        }
        Value::Object(section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the section as the handler would, with an empty standard input.
    fn printed(shell: &Shell) -> String {
        let section = shell.section();
        let args: Vec<String> = serde_json::from_value(section["args"].clone()).unwrap();
        let output = std::process::Command::new(section["program"].as_str().unwrap())
            .args(args)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn the_shell_gets_script_input_and_arguments_as_they_were() {
        let shell = |script: &str, stdin: Option<&str>, arguments: &[&str]| Shell {
            program: "sh".into(),
            script: script.into(),
            stdin: stdin.map(str::to_owned),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            ..Shell::default()
        };
        assert_eq!(
            printed(&shell("echo $((1 + 1)) | cat; echo 'x y'", None, &[])),
            "2\nx y\n"
        );
        assert_eq!(
            printed(&shell("cat # all of it", Some("a \"b\"\n$c '%d' \\"), &[])),
            "a \"b\"\n$c '%d' \\\n"
        );
        assert_eq!(printed(&shell("echo \"$1|$2\"", None, &["a b", "0"])), "a b|0\n");
    }
}

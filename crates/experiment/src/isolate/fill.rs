//! A deployment's address and commands with levels or a version filled in.
//!
//! What is filled in stays within its word: a command is a list of words, and no shell reads it. Where a user writes a shell
//! into it, the script is refused a placeholder: there a value would be code. The environment has it as well.

use crate::ab::SideSection;
use std::{collections::BTreeMap, path::Path};

/// Environment variable that a version is told in.
pub const VERSION: &str = "FIRSTCHECK_VERSION";

/// Programs that read an argument as a script.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "pwsh", "powershell", "cmd"];
/// Programs that pass their arguments on to a shell elsewhere.
const REMOTE: [&str; 3] = ["ssh", "srun", "parallel"];

/// What goes where a name stands in braces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Value {
    /// The name.
    pub name: String,
    /// What goes there.
    pub value: String,
    /// Words that are put behind the start command.
    pub args: Vec<String>,
    /// Environment variables of the start command.
    pub env: BTreeMap<String, String>,
}

/// A value that cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// It would be read as code.
    #[error(
        "{{{name}}} stands in a script of {shell}, where its value would be code: write \"${variable}\" there, which has it"
    )]
    InScript {
        /// Whose place.
        name: String,
        /// The shell.
        shell: String,
        /// The environment variable.
        variable: String,
    },
    /// It would be read as code elsewhere.
    #[error(
        "{name} is `{value}`, and {program} hands words to a shell, which would read that as code: use letters, digits and . _ : / @ = + - alone"
    )]
    Unsafe {
        /// Whose value.
        name: String,
        /// The value.
        value: String,
        /// The program.
        program: String,
    },
    /// Nothing differs.
    #[error("nothing in the deployment depends on {name}: write {{{name}}} where its value goes")]
    Unused {
        /// The name.
        name: String,
    },
}

/// The environment variable that tells a command the level of a factor: `FIRSTCHECK_RUNTIME`.
pub fn variable(name: &str) -> String {
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    format!("FIRSTCHECK_{name}")
}

impl SideSection {
    /// The deployment with `values` in their places.
    ///
    /// # Errors
    /// A value that nothing depends on, or that a shell would read as code.
    ///
    /// # Example: a value is one word, whatever is in it
    /// ```
    /// use firstcheck_experiment::{ab::SideSection, isolate::Value};
    /// let start = ["serve".into(), "--tag={version}".into()].to_vec();
    /// let section = SideSection { start, ..SideSection::default() };
    /// let value = Value { name: "version".into(), value: "a b; rm c".into(), ..Value::default() };
    /// assert_eq!(section.filled(&[value]).unwrap().start, ["serve", "--tag=a b; rm c"]);
    /// ```
    pub fn filled(&self, values: &[Value]) -> Result<Self, FillError> {
        let mut filled = self.clone();
        for value in values {
            let place = format!("{{{}}}", value.name);
            let variable = variable(&value.name);
            for command in [&self.start, &self.stop] {
                check(command, value, &place, &variable)?;
            }
            let used =
                self.texts().any(|text| text.contains(&place)) || !value.args.is_empty() || !value.env.is_empty();
            // A command may look into its environment.
            if !used && self.start.is_empty() {
                return Err(FillError::Unused { name: value.name.clone() });
            }
            let put = |text: &mut String| *text = text.replace(&place, &value.value);
            filled.start.iter_mut().chain(&mut filled.stop).for_each(put);
            [&mut filled.target, &mut filled.model, &mut filled.ready_url].into_iter().flatten().for_each(put);
            filled.env.values_mut().for_each(put);
            filled.start.extend(value.args.iter().cloned());
            filled.env.extend(value.env.clone());
            filled.env.insert(variable, value.value.clone());
        }
        Ok(filled)
    }

    fn texts(&self) -> impl Iterator<Item = &String> {
        let single = [&self.target, &self.model, &self.ready_url].into_iter().flatten();
        single.chain(&self.start).chain(&self.stop).chain(self.env.values())
    }
}

/// Whether a value may go where its place stands in a command.
fn check(command: &[String], value: &Value, place: &str, variable: &str) -> Result<(), FillError> {
    let name = |word: &String| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
    let known = |word: &String, list: &[&str]| name(word).filter(|name| list.contains(&name.as_str()));
    for (at, _) in command.iter().enumerate().filter(|(_, word)| word.contains(place)) {
        let before = &command[..at];
        let shell = before.iter().find_map(|word| known(word, &SHELLS));
        let script =
            before.last().is_some_and(|flag| flag.starts_with(['-', '/']) && flag.to_lowercase().contains('c'));
        if let Some(shell) = shell.filter(|_| script) {
            let variable = variable.to_owned();
            return Err(FillError::InScript { name: value.name.clone(), shell, variable });
        }
        if let Some(program) = before.iter().find_map(|word| known(word, &REMOTE)).filter(|_| !is_plain(&value.value)) {
            return Err(FillError::Unsafe { name: value.name.clone(), value: value.value.clone(), program });
        }
    }
    Ok(())
}

/// Whether no shell reads anything but a word in it.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || ".,_:/@=+-".contains(c))
}

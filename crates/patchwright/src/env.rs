//! The environment: the only place that reads it (H6).
//!
//! Every variable stands once in [`variable`], typed and documented; `settings` says which setting
//! it fills. The environment is read once at start and never again. An empty variable counts as
//! unset, because pipelines often pass empty ones along.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;

pub mod variable;

/// One environment variable with what a person needs to know about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its names: the first one is ours, the others are aliases. The first that is set counts.
    pub names: &'static [&'static str],
    /// What it does, one line each.
    pub about: &'static [&'static str],
    pub confidence: Confidence,
    pub used: Use,
}

/// Whether a value may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    Public,
    /// Never shown, never logged; the redactor knows it (T6).
    Secret,
}

/// Whether this version acts on a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Now,
    /// Accepted, kept secret where it is one, and reported as not used yet.
    Later,
}

impl Variable {
    pub fn name(&self) -> &'static str {
        self.names[0]
    }
}

/// A variable whose value may be shown.
#[derive(Clone, Copy, Debug)]
pub struct Plain(pub Variable);

/// A variable whose value is a secret.
#[derive(Clone, Copy, Debug)]
pub struct Secret(pub Variable);

/// A value and the name of the variable that it came from.
#[derive(Clone, Debug)]
pub struct Given<T> {
    pub name: &'static str,
    pub value: T,
}

/// A variable holds bytes that are not text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {name} is not valid UTF-8")]
pub struct NotText {
    pub name: String,
}

/// The environment as it stood when the program started.
#[derive(Clone, Default)]
pub struct Environment {
    values: BTreeMap<String, OsString>,
}

impl Environment {
    /// Reads the environment of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the environment"
    )]
    pub fn of_process() -> Self {
        Self::of(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))),
        )
    }

    /// Takes an environment from given pairs, as tests do.
    pub fn of<N: Into<String>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let values = pairs.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self { values: values.filter(|(_, value)| !value.is_empty()).collect() }
    }

    /// Returns the value of a public variable.
    pub fn plain(&self, variable: &Plain) -> Result<Option<Given<String>>, NotText> {
        self.first(&variable.0)
    }

    /// Returns the value of a secret variable.
    pub fn secret(&self, variable: &Secret) -> Result<Option<Given<SecretString>>, NotText> {
        let given = self.first(&variable.0)?;
        Ok(given.map(|given| Given { name: given.name, value: SecretString::from(given.value) }))
    }

    /// Returns a secret from a variable that the operator's configuration names.
    pub fn named_secret(&self, name: &str) -> Result<Option<SecretString>, NotText> {
        Ok(self.text(name)?.map(SecretString::from))
    }

    /// Returns a variable that holds a path, which need not be text.
    pub fn path(&self, variable: &Plain) -> Option<PathBuf> {
        variable.0.names.iter().find_map(|name| self.values.get(*name)).map(PathBuf::from)
    }

    /// Whether the variable is set, under any of its names.
    pub fn has(&self, variable: &Variable) -> bool {
        variable.names.iter().any(|name| self.values.contains_key(*name))
    }

    /// Returns every secret of the environment, used or not: the redactor must know them all (T6).
    pub fn secrets(&self) -> Vec<SecretString> {
        variable::ALL
            .iter()
            .filter(|variable| variable.confidence == Confidence::Secret)
            .flat_map(|variable| variable.names)
            .filter_map(|name| self.values.get(*name))
            .map(|value| SecretString::from(value.to_string_lossy().into_owned()))
            .collect()
    }

    fn first(&self, variable: &Variable) -> Result<Option<Given<String>>, NotText> {
        for name in variable.names {
            if let Some(value) = self.text(name)? {
                return Ok(Some(Given { name, value }));
            }
        }
        Ok(None)
    }

    fn text(&self, name: &str) -> Result<Option<String>, NotText> {
        match self.values.get(name) {
            None => Ok(None),
            Some(value) => match value.to_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(NotText { name: name.to_owned() }),
            },
        }
    }
}

/// Shows names only: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Environment").field(&self.values.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn an_empty_variable_counts_as_unset() {
        let environment = Environment::of([("PLATFORM", "")]);
        assert!(environment.plain(&variable::PLATFORM).unwrap().is_none());
    }

    #[test]
    fn our_own_name_wins_over_its_aliases() {
        let environment =
            Environment::of([("GITCODE_BOT_USERNAME", "old"), ("BOT_USERNAME", "new")]);
        let given = environment.plain(&variable::BOT_USERNAME).unwrap().unwrap();
        assert_eq!((given.name, given.value.as_str()), ("BOT_USERNAME", "new"));
    }

    #[test]
    fn an_alias_says_its_own_name() {
        let environment = Environment::of([("GITCODE_PAT", "glcode-token")]);
        let given = environment.secret(&variable::GITCODE_TOKEN).unwrap().unwrap();
        assert_eq!((given.name, given.value.expose_secret()), ("GITCODE_PAT", "glcode-token"));
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_by_name() {
        let environment = Environment::of([("PLATFORM", OsString::from_vec(vec![0xff]))]);
        let error = environment.plain(&variable::PLATFORM).unwrap_err();
        assert_eq!(error.to_string(), "the environment variable PLATFORM is not valid UTF-8");
    }

    #[test]
    fn t6_debug_output_shows_no_value() {
        let environment = Environment::of([("GITHUB_TOKEN", "ghp_canary")]);
        assert_eq!(format!("{environment:?}"), r#"Environment(["GITHUB_TOKEN"])"#);
    }

    #[test]
    fn t6_every_secret_is_known_under_each_of_its_names() {
        for variable in
            variable::ALL.iter().filter(|variable| variable.confidence == Confidence::Secret)
        {
            for name in variable.names {
                let secrets = Environment::of([(*name, "canary-value")]).secrets();
                assert_eq!(secrets.len(), 1, "{name}");
            }
        }
    }

    #[test]
    fn h6_every_variable_stands_in_one_place() {
        let mut names: Vec<_> = variable::ALL.iter().flat_map(|variable| variable.names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(variable::ALL.iter().all(|variable| !variable.about.is_empty()));
    }
}

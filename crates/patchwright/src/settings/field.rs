//! What a setting is: its key, its meaning in words, its default, and who else may set it.
//!
//! The macro [`section!`] declares a section of the configuration as a struct. The doc comments of
//! the struct are the documentation that people read in `config example` and `docs/configure.md`,
//! so that a setting cannot exist without its description, nor be described without existing.

use std::fmt;
use std::ops::Deref;

use crate::env::Variable;

/// One key of the configuration file.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub key: &'static str,
    /// What it does, one line each.
    pub about: &'static [&'static str],
    /// What its value looks like, in words.
    pub expected: &'static str,
    pub form: Form,
    pub default: Fallback,
    /// The environment variable that sets it too, and wins over the file.
    pub variable: Option<Variable>,
    /// The flag that sets it too, and wins over all.
    pub flag: Option<&'static str>,
}

/// How a setting is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Value,
    /// Three keys: the value itself, `KEY-env` and `KEY-file`.
    Secret,
}

/// What holds when nobody sets a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// The default, as it would be written in an environment variable.
    Is(&'static str),
    /// Nothing; the text is an example for the reader.
    Unset { example: &'static str },
}

/// One table of the configuration file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub name: &'static str,
    pub about: &'static [&'static str],
    pub fields: &'static [Field],
    pub repeated: Repeated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeated {
    /// `[name]`
    Once,
    /// `[[name]]`
    Often,
}

impl Section {
    /// Returns the header of the section as it stands in the file.
    pub fn header(&self) -> String {
        match self.repeated {
            Repeated::Once => format!("[{}]", self.name),
            Repeated::Often => format!("[[{}]]", self.name),
        }
    }

    /// Returns every key that may stand in the section.
    pub fn keys(&self) -> Vec<String> {
        self.fields.iter().flat_map(Field::keys).collect()
    }
}

impl Field {
    /// Returns the keys under which the setting may be written.
    pub fn keys(&self) -> Vec<String> {
        match self.form {
            Form::Value => vec![self.key.to_owned()],
            Form::Secret => vec![self.key.to_owned(), self.env_key(), self.file_key()],
        }
    }

    /// The key that names an environment variable with the secret.
    pub fn env_key(&self) -> String {
        format!("{}-env", self.key)
    }

    /// The key that names a file with the secret.
    pub fn file_key(&self) -> String {
        format!("{}-file", self.key)
    }
}

/// Who set a value. Later ones win.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Default,
    /// The configuration file, at this line.
    File {
        line: usize,
    },
    Environment {
        name: String,
    },
    Flag {
        name: &'static str,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { line } => write!(f, "file, line {line}"),
            Self::Environment { name } => write!(f, "environment, {name}"),
            Self::Flag { name } => write!(f, "flag, {name}"),
        }
    }
}

/// A value and who set it. It is used as the value itself.
#[derive(Clone, Debug)]
pub struct Sourced<T> {
    pub value: T,
    pub source: Source,
}

impl<T> Deref for Sourced<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// A resolved setting as `config show` prints it.
#[derive(Clone, Debug)]
pub struct Shown {
    pub key: &'static str,
    /// Written as in the file; a secret is `[set]`, never its value. `None`: it is not set.
    pub value: Option<String>,
    pub source: Source,
}

/// Declares a section: a struct of [`Sourced`] values, its [`Section`] table, how it is read and
/// how it is shown.
macro_rules! section {
    (
        $(#[doc = $section_about:literal])+
        $repeated:ident $name:literal as $section:ident {
            $(
                $(#[doc = $about:literal])+
                $field:ident: $type:ty = $key:literal, $fallback:expr
                $(, env $variable:expr)? $(, flag $flag:literal)?;
            )+
        }
    ) => {
        $(#[doc = $section_about])+
        #[derive(Clone, Debug)]
        pub struct $section {
            $($(#[doc = $about])+ pub $field: $crate::settings::field::Sourced<$type>,)+
        }

        impl $section {
            /// What the section looks like in the file.
            pub const SECTION: $crate::settings::field::Section = $crate::settings::field::Section {
                name: $name,
                about: &[$($section_about),+],
                fields: &[$($crate::settings::field::Field {
                    key: $key,
                    about: &[$($about),+],
                    expected: <$type as $crate::settings::value::Value>::EXPECTED,
                    form: <$type as $crate::settings::value::Value>::FORM,
                    default: $fallback,
                    variable: section!(@optional $($variable.0)?),
                    flag: section!(@optional $($flag)?),
                }),+],
                repeated: $crate::settings::field::Repeated::$repeated,
            };

            /// Reads every field of the section; what is wrong is left with the reader.
            pub(crate) fn read(reader: &mut $crate::settings::reader::SectionReader<'_, '_>) -> Self {
                let mut fields = Self::SECTION.fields.iter();
                Self { $($field: reader.next(&mut fields),)+ }
            }

            /// Returns every field as `config show` prints it.
            pub fn shown(&self) -> Vec<$crate::settings::field::Shown> {
                vec![$($crate::settings::field::Shown {
                    key: $key,
                    value: $crate::settings::value::Value::show(&self.$field.value),
                    source: self.$field.source.clone(),
                }),+]
            }
        }
    };
    (@optional) => { None };
    (@optional $given:expr) => { Some($given) };
}

pub(crate) use section;

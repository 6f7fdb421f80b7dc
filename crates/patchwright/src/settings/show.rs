//! `config show` and `config example`: the configuration as text, generated from the sections.

use std::fmt::Write as _;

use super::field::{Fallback, Field, Form, Repeated, Section, Shown};
use super::value::quoted;
use super::{Settings, section};
use crate::env::Variable;

/// Returns the resolved configuration with the source of each value. Secrets read `[set]`.
pub fn resolved(settings: &Settings) -> String {
    let mut text = match &settings.file {
        Some(path) => format!("# Read from {}\n", path.display()),
        None => "# No configuration file was found; `patchwright config example` prints one.\n"
            .to_owned(),
    };
    let sections: [(&Section, Vec<Shown>); 11] = [
        (&section::Server::SECTION, settings.server.shown()),
        (&section::Store::SECTION, settings.store.shown()),
        (&section::Network::SECTION, settings.network.shown()),
        (&section::Bot::SECTION, settings.bot.shown()),
        (&section::Policy::SECTION, settings.policy.shown()),
        (&section::Worker::SECTION, settings.worker.shown()),
        (&section::Git::SECTION, settings.git.shown()),
        (&section::Publish::SECTION, settings.publish.shown()),
        (&section::Jobs::SECTION, settings.jobs.shown()),
        (&section::Budget::SECTION, settings.budget.shown()),
        (&section::Log::SECTION, settings.log.shown()),
    ];
    for (section, shown) in sections {
        let _ = write!(text, "\n{}\n", section.header());
        for setting in shown {
            let value = setting.value.as_deref().unwrap_or("[unset]");
            line(&mut text, setting.key, value, &setting.source.to_string());
        }
    }
    connections(&mut text, settings);
    if !settings.left_out.is_empty() {
        let _ =
            write!(text, "\n# Not served because of PLATFORM: {}\n", settings.left_out.join(", "));
    }
    if !settings.not_used_yet.is_empty() {
        let _ = write!(
            text,
            "\n# Set, but not used yet by this version: {}\n",
            settings.not_used_yet.join(", ")
        );
    }
    text
}

fn connections(text: &mut String, settings: &Settings) {
    for connection in &settings.connections {
        let source = connection.source.to_string();
        let _ = write!(text, "\n[[connection]]\n");
        line(text, "name", &quoted(&connection.name), &source);
        line(text, "forge", &quoted(connection.host.as_str()), &source);
        line(text, "url", &quoted(connection.url.as_str()), &source);
        for (key, secret) in
            [("token", &connection.token), ("webhook-secret", &connection.webhook_secret)]
        {
            match secret {
                Some(secret) => line(text, key, "[set]", &secret.source.to_string()),
                None => line(text, key, "[unset]", "default"),
            }
        }
    }
}

fn line(text: &mut String, key: &str, value: &str, source: &str) {
    let setting = format!("{key} = {value}");
    let _ = writeln!(text, "{setting:<44} # {source}");
}

/// Returns a configuration file with every setting, commented out at its default.
pub fn example() -> String {
    let mut text = "\
# Configuration of Patchwright. Every setting stands here with its default; remove the `#` to change
# one. Environment variables win over this file, flags over both. `patchwright config show` tells
# what is in force. This file is looked for at --config, PATCHWRIGHT_CONFIG,
# ~/.config/patchwright/patchwright.toml and /etc/patchwright/patchwright.toml.
#
# A secret can be written in three ways: KEY = \"…\" (keep the file private then), KEY-env = \"NAME\"
# reads an environment variable, KEY-file = \"PATH\" reads a file.
"
    .to_owned();
    for section in section::ALL {
        text.push('\n');
        for about in section.about {
            let _ = writeln!(text, "#{about}");
        }
        match section.repeated {
            Repeated::Once => writeln!(text, "{}", section.header()),
            Repeated::Often => writeln!(text, "#{}", section.header()),
        }
        .unwrap_or_default();
        for field in section.fields {
            example_field(&mut text, field);
        }
    }
    text
}

fn example_field(text: &mut String, field: &Field) {
    for about in field.about {
        let _ = writeln!(text, "#{about}");
    }
    let also: Vec<_> = field.variable.iter().map(Variable::name).chain(field.flag).collect();
    if !also.is_empty() {
        let _ = writeln!(text, "# Also: {}.", also.join(", "));
    }
    let _ = match (field.form, field.default) {
        (Form::Secret, _) => {
            writeln!(text, "#{} = \"/etc/patchwright/{}\"", field.file_key(), field.key)
        }
        (Form::Value, Fallback::Is(default)) => {
            writeln!(text, "#{} = {}", field.key, as_toml(field, default))
        }
        (Form::Value, Fallback::Unset { example }) => {
            writeln!(text, "#{} = {}", field.key, quoted(example))
        }
    };
}

/// Writes a default as TOML: lists, numbers and truth values are not quoted.
pub(super) fn as_toml(field: &Field, default: &str) -> String {
    let is_bare = default.parse::<u64>().is_ok() || matches!(default, "true" | "false");
    match default {
        "" if field.expected.starts_with("a list") => "[]".to_owned(),
        _ if is_bare => default.to_owned(),
        _ => quoted(default),
    }
}

//! A database of its own on a PostgreSQL server that may be anybody's, for as long as a trial.

use anyhow::{Context, Result};
use postgres::{Client, NoTls};
use url::Url;

#[derive(Debug)]
pub(super) struct Database {
    server: String,
    name: String,
    url: String,
}

impl Database {
    /// Creates the database on the server that `server` leads to.
    pub(super) fn create(server: &str) -> Result<Self> {
        let name = format!("patchwright_chaos_{}", uuid::Uuid::new_v4().simple());
        let mut url = Url::parse(server).ok().context("the database's address is not a URL")?;
        url.set_path(&name);
        let mut client = connect(server)?;
        client.batch_execute(&format!("CREATE DATABASE {name}"))?;
        Ok(Self { server: server.to_owned(), name, url: url.into() })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let dropped = connect(&self.server).and_then(|mut client| {
            let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
            Ok(client.batch_execute(&sql)?)
        });
        if let Err(error) = dropped {
            println!("  the database {} could not be removed: {error:#}", self.name);
        }
    }
}

fn connect(server: &str) -> Result<Client> {
    // The address holds a password, so it is not repeated.
    Client::connect(server, NoTls).context("cannot connect to PostgreSQL")
}

//! What was reconciled with the forge, and until when (J9).

use domain::{Origin, Repo, RepoKey, Time};

use crate::db::Db;
use crate::error::Error;
use crate::values;

/// Returns the repositories of a connection that ever had a job, with their numeric ids. One that
/// is known by its name only is left to its first job.
pub fn known_repos(db: &mut dyn Db, origin: &Origin) -> Result<Vec<Repo>, Error> {
    let rows = db.query(
        "SELECT id, name FROM repos WHERE connection = $1 ORDER BY id",
        &values![origin.as_str()],
    )?;
    let mut repos = Vec::new();
    for mut row in rows {
        let (id, full_name) = (row.text()?, row.text()?);
        let number = id.strip_prefix(origin.as_str()).and_then(|key| key.strip_prefix('/'));
        let Some(Ok(number)) = number.map(str::parse) else { continue };
        let key = RepoKey::Id(number);
        repos.push(Repo { origin: origin.clone(), key, full_name, default_branch: None });
    }
    Ok(repos)
}

/// Returns the moment up to which a repository was reconciled.
pub fn watermark(db: &mut dyn Db, repo: &Repo) -> Result<Option<Time>, Error> {
    let row = db.find("SELECT value FROM meta WHERE key = $1", &values![key(repo)])?;
    let text = row.map(|mut row| row.text()).transpose()?;
    Ok(text.and_then(|text| text.parse().ok()).map(Time))
}

/// Moves the moment up to which a repository was reconciled; never back.
pub fn raise(db: &mut dyn Db, repo: &Repo, to: Time) -> Result<(), Error> {
    if watermark(db, repo)?.is_some_and(|known| known >= to) {
        return Ok(());
    }
    db.execute(
        "INSERT INTO meta (key, value) VALUES ($1, $2)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        &values![key(repo), to.0.to_string()],
    )?;
    Ok(())
}

fn key(repo: &Repo) -> String {
    format!("reconciled:{}", repo.id())
}

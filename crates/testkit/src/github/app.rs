//! What an App asks with the token that it signs itself: who it is, where it is installed, and
//! tokens that last an hour.

use std::collections::{BTreeMap, BTreeSet};

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Time;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Query, missing, read};
use super::{not_found, refuse, shape, token};
use crate::forge::{
    Access, Answer, Asked, Bearer, Credential, FakeApp, FakeInstallation, Model, Reach, Shared,
    commit,
};

/// How long a token of an App's own may last, and how far a clock may be ahead, in seconds.
const LONGEST: i64 = 600;
const AHEAD: i64 = 0;

#[derive(Deserialize)]
struct Header {
    alg: String,
    typ: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: Issuer,
}

/// The client id, or the App's number as a number or a text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Issuer {
    Number(u64),
    Text(String),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    repositories: Option<Vec<String>>,
    repository_ids: Option<Vec<u64>>,
    permissions: Option<BTreeMap<String, Access>>,
}

/// Answers what only an App asks; `None` if the path is none of these.
pub(super) fn answer(
    shared: &Shared,
    model: &mut Model,
    asked: &Asked,
    path: &[&str],
) -> Option<Result<Answer, Answer>> {
    let now = shared.clock.now();
    let read_only = asked.method == Method::GET;
    let answer = match path {
        ["app"] if read_only => {
            authenticate(model, asked, now).map(|app| Answer::new(StatusCode::OK, shape::app(&app)))
        }
        ["app", "installations"] if read_only => authenticate(model, asked, now)
            .and_then(|app| installations(shared, model, asked, &app)),
        ["app", "installations", id] if read_only => authenticate(model, asked, now)
            .and_then(|app| one(shared, installation(model, &app, id)?, &app)),
        ["app", "installations", id, "access_tokens"] if asked.method == Method::POST => {
            authenticate(model, asked, now).and_then(|app| {
                let id = installation(model, &app, id)?.id;
                mint(shared, model, asked, id)
            })
        }
        ["repos", owner, name, "installation"] if read_only => authenticate(model, asked, now)
            .and_then(|app| {
                let repo = model.repo_named(&format!("{owner}/{name}")).map_err(missing)?.id;
                let mut all = model.installations_of(app.id).into_iter();
                let found = all.find(|installation| installation.repos.contains(&repo));
                one(shared, found.ok_or_else(not_found)?, &app)
            }),
        _ => return None,
    };
    Some(answer)
}

/// Answers with the repositories that an installation's own token reaches.
pub(super) fn repositories(
    shared: &Shared,
    model: &Model,
    asked: &Asked,
    bearer: &Bearer,
) -> Result<Answer, Answer> {
    let Credential::Installation(id) = bearer.credential else {
        return Err(refuse(403, "You must authenticate with an installation access token."));
    };
    let query = Query::read(asked, &[])?;
    let installation = model.installation(id).map_err(missing)?;
    let reach = bearer.reach.as_ref();
    let all: Vec<Value> = installation
        .repos
        .iter()
        .filter(|repo| reach.is_none_or(|reach| reach.repos.contains(repo)))
        .filter_map(|repo| model.repo(*repo).ok())
        .map(|repo| shape::repository(&shared.url, repo))
        .collect();
    let body = json!({
        "total_count": all.len(),
        "repository_selection": "selected",
        "repositories": query.cut(&all),
    });
    let path = format!("{}/installation/repositories", shared.url);
    Ok(query.link(Answer::new(StatusCode::OK, body), &path, all.len()))
}

fn installations(
    shared: &Shared,
    model: &Model,
    asked: &Asked,
    app: &FakeApp,
) -> Result<Answer, Answer> {
    let query = Query::read(asked, &[])?;
    let all: Vec<Value> = model
        .installations_of(app.id)
        .into_iter()
        .map(|installation| shape::installation(&shared.url, app, installation))
        .collect();
    let answer = Answer::new(StatusCode::OK, Value::Array(query.cut(&all)));
    Ok(query.link(answer, &format!("{}/app/installations", shared.url), all.len()))
}

fn one(shared: &Shared, installation: &FakeInstallation, app: &FakeApp) -> Result<Answer, Answer> {
    Ok(Answer::new(StatusCode::OK, shape::installation(&shared.url, app, installation)))
}

fn installation<'m>(
    model: &'m Model,
    app: &FakeApp,
    id: &str,
) -> Result<&'m FakeInstallation, Answer> {
    let id = id.parse().map_err(|_| not_found().violating("the installation is no number"))?;
    let found = model.installation(id).map_err(missing)?;
    if found.app == app.id { Ok(found) } else { Err(not_found()) }
}

/// Makes a token, for all that the installation reaches or for less.
fn mint(shared: &Shared, model: &mut Model, asked: &Asked, id: u64) -> Result<Answer, Answer> {
    let now = shared.clock.now();
    let wanted = if asked.body.is_empty() { Wanted::default() } else { read(asked)? };
    let installation = model.installation(id).map_err(missing)?.clone();
    let beyond = || {
        let why = "The permissions requested are not granted to this installation.";
        refuse(422, why)
    };
    let mut repos: BTreeSet<u64> = wanted.repository_ids.iter().flatten().copied().collect();
    for name in wanted.repositories.iter().flatten() {
        let full_name = format!("{}/{name}", installation.owner.login);
        repos.insert(model.repo_named(&full_name).map_err(|_| beyond())?.id);
    }
    if wanted.repositories.is_none() && wanted.repository_ids.is_none() {
        repos.clone_from(&installation.repos);
    }
    let permissions = wanted.permissions.unwrap_or_else(|| installation.permissions.clone());
    let granted = |(name, access): (&String, &Access)| {
        installation.permissions.get(name).is_some_and(|has| has >= access)
    };
    if !repos.is_subset(&installation.repos) || !permissions.iter().all(granted) {
        return Err(beyond());
    }
    let (app, serial) = (installation.app, model.serial());
    // As long as the new ones are: nobody may count on forty characters.
    let parts: Vec<String> =
        (0..8).map(|part| commit(format!("token {id} {serial} {part}"))).collect();
    let token = format!("ghs_{app}_{}", parts.concat());
    let shown: Vec<Value> = repos
        .iter()
        .filter_map(|repo| model.repo(*repo).ok())
        .map(|repo| shape::repository(&shared.url, repo))
        .collect();
    let reach = Reach { repos, permissions: permissions.clone() };
    let end = model.mint(id, &token, reach, now).map_err(missing)?;
    let body = json!({
        "token": token,
        "expires_at": shape::time(end),
        "permissions": permissions,
        "repository_selection": "selected",
        "repositories": shown,
    });
    Ok(Answer::new(StatusCode::CREATED, body))
}

/// Returns the App that signed the request's token.
fn authenticate(model: &Model, asked: &Asked, now: Time) -> Result<FakeApp, Answer> {
    let denied = |message: &str, why: &str| refuse(401, message).violating(why.to_owned());
    let Some(jwt) = token(asked) else {
        return Err(denied("A JSON web token could not be decoded", "no token of an App"));
    };
    let undecoded = |why: &str| denied("A JSON web token could not be decoded", why);
    let mut parts = jwt.split('.');
    let (Some(header), Some(claims), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(undecoded("the token is none that an App signs"));
    };
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| undecoded("no base64url"));
    let head: Header = serde_json::from_slice(&decode(header)?)
        .map_err(|_| undecoded("the header of the token is wrong"))?;
    if head.alg != "RS256" || head.typ.is_some_and(|typ| typ != "JWT") {
        return Err(undecoded("the token is not signed with RS256"));
    }
    let content: Claims = serde_json::from_slice(&decode(claims)?)
        .map_err(|_| undecoded("the claims of the token are wrong"))?;
    let issuer = match content.iss {
        Issuer::Number(id) => id.to_string(),
        Issuer::Text(id) => id,
    };
    let app = model.app(&issuer).map_err(|_| denied("Integration not found", "unknown App"))?;
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &app.public_key);
    let signed = format!("{header}.{claims}");
    if key.verify(signed.as_bytes(), &decode(signature)?).is_err() {
        return Err(undecoded("the token is signed with another key"));
    }
    let now = now.0.div_euclid(1000);
    match () {
        () if content.iat > now + AHEAD => Err(denied(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            "the token is issued in the future",
        )),
        () if content.exp > now + LONGEST => Err(denied(
            "'Expiration time' claim ('exp') is too far in the future",
            "the token lasts more than ten minutes",
        )),
        () if content.exp <= now => Err(denied(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
            "the token has expired",
        )),
        () => Ok(app.clone()),
    }
}

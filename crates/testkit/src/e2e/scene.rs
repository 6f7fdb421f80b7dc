//! Everything that the stories play on: the forge, its people, the repository and the product.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use domain::{Repo, Subject};
use forge::Read as _;
use forge::gitea::Gitea;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::Options;
use super::adapter::adapter_of;
use super::checkout::Checkout;
use super::patience::until;
use super::person::{Comment, NAME, OWNER, Person};
use super::product::Product;
use super::relay::{Exchange, Relay};
use super::server::{Server, free_address};
use crate::nest::Nest;

/// Least rights that the bot's token can do with.
const SCOPES: [&str; 3] = ["write:repository", "write:issue", "read:user"];

/// What everybody else's token may do.
const ALL: [&str; 1] = ["all"];

/// The file that all changes of the stories are about, and how many lines it has.
pub(super) const FILE: &str = "src/lines.txt";
const LINES: u64 = 40;

/// How the names of the folders begin.
const NEST: &str = "patchwright-e2e-";

/// The whole scene; everything in it ends with it.
#[derive(Debug)]
pub(super) struct Scene {
    /// The version that the server says it has.
    pub(super) version: String,
    pub(super) maintainer: Person,
    /// May write to the repository.
    pub(super) writer: Person,
    /// May read it, as everybody.
    pub(super) stranger: Person,
    pub(super) bot: Person,
    pub(super) checkout: Checkout,
    /// Where the forge is, for people and for the product.
    pub(super) site: Url,
    /// What the forge is asked.
    pub(super) front: Relay,
    /// What the forge delivers.
    pub(super) door: Relay,
    pub(super) product: Product,
    /// The product's adapter, acting as the bot.
    pub(super) adapter: Gitea,
    pub(super) repo: Repo,
    // Ended in this order, the nest last.
    _server: Server,
    nest: Nest,
}

impl Scene {
    /// Starts everything and brings the people together.
    pub(super) async fn set(options: &Options) -> Result<Self> {
        let nest = Nest::build(NEST)?;
        let (inside, outside) = (free_address()?, free_address()?);
        let front = Relay::start(inside).await?;
        let door = Relay::start(outside).await?;
        let site = Url::parse(&format!("http://{}/", front.address()))?;
        let build = (options.gitea.as_path(), options.source.as_path());
        let server = Server::start(&nest, build, inside, &site).await?;
        let token = server.create_administrator("administrator")?;
        let administrator = Person::with_token(&site, "administrator", token)?;
        let maintainer = administrator.register("maintainer", &ALL).await?;
        let writer = administrator.register("writer", &ALL).await?;
        let stranger = administrator.register("stranger", &ALL).await?;
        let bot = administrator.register("mender", &SCOPES).await?;

        maintainer.creates_repository().await?;
        maintainer.invites(&writer.login, "write").await?;
        maintainer.invites(&bot.login, "write").await?;
        let checkout = Checkout::begin(nest.folder(), &site, &maintainer)?;
        checkout.commit("begin", &[(FILE, Some(&lines())), ("README.md", Some("# Project\n"))])?;
        checkout.push("main")?;

        let secret = SecretString::from(uuid::Uuid::new_v4().to_string());
        let product =
            Product::start(&nest, &options.program, outside, (&site, &bot), &secret).await?;
        let address = format!("http://{}/api/webhook", door.address());
        maintainer.hooks(&address, &secret).await.context("cannot create the webhook")?;
        let adapter = adapter_of(&site, &bot)?;
        let repo = adapter.repository(&format!("{OWNER}/{NAME}")).await?;
        Ok(Self {
            version: stranger.sees_version().await?,
            maintainer,
            writer,
            stranger,
            bot,
            checkout,
            site,
            front,
            door,
            product,
            adapter,
            repo,
            _server: server,
            nest,
        })
    }

    /// Leaves all files where they are, for somebody to look at, and says where.
    pub(super) fn keep(&mut self) -> Result<&std::path::Path> {
        self.nest.keep()?;
        Ok(self.nest.folder())
    }

    /// Tells whether this version of the server can settle a thread over its API.
    pub(super) fn settles_threads(&self) -> bool {
        let mut numbers = self.version.split(['.', '+']).map_while(|part| part.parse::<u32>().ok());
        (numbers.next(), numbers.next()) >= (Some(1), Some(26))
    }

    /// Pushes a branch that edits the file, and returns its head. Line 10 becomes another one,
    /// line 20 goes, and two lines come after line 30: from there on, numbers are one higher.
    pub(super) fn pushes_branch(&self, name: &str) -> Result<String> {
        let text = lines()
            .replace("line 10\n", "line ten\n")
            .replace("line 20\n", "")
            .replace("line 30\n", "line 30\nline 30a\nline 30b\n");
        self.checkout.branch(name, "main")?;
        let head = self.checkout.commit("edit the lines", &[(FILE, Some(&text))])?;
        self.checkout.push(name)?;
        Ok(head)
    }

    /// Opens a change with that edit, and returns it with its head.
    pub(super) async fn opens_change(&self, name: &str) -> Result<(Subject, String)> {
        let head = self.pushes_branch(name)?;
        let change = self.maintainer.opens_change(&format!("Edit: {name}"), name).await?;
        Ok((Subject::change(self.repo.clone(), change.number), head))
    }

    /// Waits until the bot has written so many comments into a conversation, and returns them.
    pub(super) async fn answers(&self, number: u64, count: usize) -> Result<Vec<Comment>> {
        until(&format!("{count} answers on #{number}"), async || {
            let answers = self.answers_now(number).await?;
            Ok((answers.len() >= count).then_some(answers))
        })
        .await
    }

    /// Returns what the bot has written into a conversation so far.
    pub(super) async fn answers_now(&self, number: u64) -> Result<Vec<Comment>> {
        let mut comments = self.stranger.sees_conversation(number).await?;
        comments.retain(|comment| comment.user.login == self.bot.login);
        Ok(comments)
    }

    /// Waits until the forge has delivered something about a comment, and the product answered it.
    pub(super) async fn delivery_of(&self, action: &str, comment: u64) -> Result<Exchange> {
        until(&format!("the delivery of comment {comment}"), async || {
            Ok(self.door.passed().into_iter().find(|exchange| {
                let body: Value = serde_json::from_slice(&exchange.asked.body).unwrap_or_default();
                body["action"] == action && body["comment"]["id"] == comment
            }))
        })
        .await
    }
}

/// Returns the file of the stories as it is at first: its lines are numbers.
fn lines() -> String {
    let mut text = String::new();
    for number in 1..=LINES {
        // Writing into a text cannot fail.
        writeln!(text, "line {number}").unwrap_or(());
    }
    text
}

//! What somebody may do on a repository, also where our account may not ask that.

use domain::{Actor, Repo};

use super::{Gitea, wire};
use crate::error::Error;
use crate::port::Permission;

impl Gitea {
    pub(super) async fn permission_of(
        &self,
        repo: &Repo,
        actor: &Actor,
    ) -> Result<Permission, Error> {
        let url = self.url(&repo.full_name, &["collaborators", &actor.login, "permission"])?;
        let what = format!("the permission of {} on {}", actor.login, repo.full_name);
        match self.client.read::<wire::Collaborator>(&what, url, self.client.now()).await {
            Ok(collaborator) => Ok(collaborator.permission_of(actor)),
            Err(Error::Gone { .. }) => Ok(Permission::None),
            // Only those who administer the repository may ask about others.
            Err(Error::Forbidden { what, why }) => {
                if !self.is_owned_by_a_person(repo).await? {
                    let why = format!(
                        "{why} (our account must administer the repositories of organizations)"
                    );
                    return Err(Error::Forbidden { what, why });
                }
                self.permission_by_assignees(repo, actor).await
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the owner is no organization: asked for its teams, the server then says so.
    async fn is_owned_by_a_person(&self, repo: &Repo) -> Result<bool, Error> {
        let url = self.url(&repo.full_name, &["teams"])?;
        let what = format!("the teams of {}", repo.full_name);
        match self.client.read_raw(&what, url, self.client.now()).await {
            Err(Error::Refused { status: 405, .. }) => Ok(true),
            Ok(_) | Err(Error::Forbidden { .. } | Error::Gone { .. } | Error::Refused { .. }) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Everybody who may write can be assigned, and on a person's repository nobody else. In an
    /// organization those who may only read changes can be assigned too: there this proves nothing.
    async fn permission_by_assignees(
        &self,
        repo: &Repo,
        actor: &Actor,
    ) -> Result<Permission, Error> {
        let url = self.url(&repo.full_name, &["assignees"])?;
        let what = format!("those who may write to {}", repo.full_name);
        let writers: Vec<wire::User> =
            self.client.read_whole(&what, url, self.client.now()).await?;
        match writers.iter().any(|user| user.is(actor)) {
            true => Ok(Permission::Write),
            false => Ok(Permission::None),
        }
    }
}

//! The adapter against a server that answers as Gitea or Forgejo does.

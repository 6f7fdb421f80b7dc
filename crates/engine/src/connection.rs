//! The forges that jobs may talk to, by origin.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Origin;
use forge::{Host, Read, Write};

/// One forge as configured.
#[derive(Clone)]
pub struct Connection {
    pub origin: Origin,
    pub host: Host,
    pub read: Arc<dyn Read>,
    pub write: Arc<dyn Write>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("origin", &self.origin)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

/// All of them. A job of a connection that is not here fails with words, it does not wait.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    by_origin: BTreeMap<Origin, Connection>,
}

impl Connections {
    pub fn new(connections: impl IntoIterator<Item = Connection>) -> Self {
        let by_origin = connections
            .into_iter()
            .map(|connection| (connection.origin.clone(), connection))
            .collect();
        Self { by_origin }
    }

    pub fn find(&self, origin: &Origin) -> Option<&Connection> {
        self.by_origin.get(origin)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.by_origin.values()
    }
}

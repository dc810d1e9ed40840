//! The types that this process knows, kept as new as the store's.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use domain::TypeSpec;
use store::TaskStore;

use crate::{BadSchema, KnownType};

/// The types of one version of the control state.
#[derive(Debug, Default)]
pub struct TypeTable {
    version: u64,
    types: HashMap<String, Result<Arc<KnownType>, BadSchema>>,
}

impl TypeTable {
    /// Compiles what the store has. A type whose schema this process can't use stays known, with the reason. The
    /// built-in type is there too, unless it is declared.
    #[must_use]
    pub fn new(version: u64, specs: Vec<TypeSpec>) -> Self {
        let compiled = |spec: TypeSpec| (spec.name.clone(), KnownType::new(spec).map(Arc::new));
        let built_in = std::iter::once(TypeSpec::fan_out());
        Self {
            version,
            // The later one of a name stays.
            types: built_in.chain(specs).map(compiled).collect(),
        }
    }

    /// The version of the control state.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// A type by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Result<Arc<KnownType>, BadSchema>> {
        self.types.get(name)
    }

    /// The usable types.
    pub fn specs(&self) -> impl Iterator<Item = &TypeSpec> {
        self.types.values().flatten().map(|known| known.spec())
    }
}

/// The newest table. Clones share it.
#[derive(Clone)]
pub struct Types {
    store: Arc<dyn TaskStore>,
    /// None before the first read.
    table: Arc<RwLock<Option<Arc<TypeTable>>>>,
    /// Types are compiled once even where many ask at the same moment.
    refreshing: Arc<tokio::sync::Mutex<()>>,
}

impl std::fmt::Debug for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Types")
            .field("version", &self.table().version)
            .finish_non_exhaustive()
    }
}

impl Types {
    /// No types yet: call [`Types::refresh`].
    #[must_use]
    pub fn new(store: Arc<dyn TaskStore>) -> Self {
        Self {
            store,
            table: Arc::default(),
            refreshing: Arc::default(),
        }
    }

    /// The newest table that was read; empty before the first.
    #[must_use]
    pub fn table(&self) -> Arc<TypeTable> {
        self.read().unwrap_or_default()
    }

    fn read(&self) -> Option<Arc<TypeTable>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the types if the store's version is another; the newest table.
    ///
    /// # Errors
    /// When the store does not answer; the old table stays.
    pub async fn refresh(&self) -> Result<Arc<TypeTable>, store::Error> {
        let _one = self.refreshing.lock().await;
        if let Some(current) = self.read()
            && self.store.types_version().await? == current.version
        {
            return Ok(current);
        }
        let (version, specs) = self.store.types().await?;
        let table = Arc::new(TypeTable::new(version, specs));
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&table));
        Ok(table)
    }
}

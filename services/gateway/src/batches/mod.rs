//! `/batches`: many tasks that were handed in together.

mod cancel;
mod results;
mod seal;
mod show;

use axum::{
    Router,
    routing::{get, post},
};

use crate::gate::Entrance;

#[derive(utoipa::OpenApi)]
#[openapi(paths(show::list, show::show, results::results, cancel::cancel, seal::seal))]
pub(crate) struct Api;

/// The routes, below `/api/v1`.
pub(crate) fn routes() -> Router<Entrance> {
    Router::new()
        .route("/batches", get(show::list))
        .route("/batches/{id}", get(show::show))
        .route("/batches/{id}/results", get(results::results))
        .route("/batches/{id}/cancel", post(cancel::cancel))
        .route("/batches/{id}/seal", post(seal::seal))
}

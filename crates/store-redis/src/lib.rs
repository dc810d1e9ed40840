//! The task store on Redis; the only user of the redis client.

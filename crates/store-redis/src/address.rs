//! What `redis.url` can say: one server, the nodes of a cluster, or sentinels that know a master.

use redis::{Client, IntoConnectionInfo, RedisConnectionInfo};
use store::Error;

/// Where the store is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// One server.
    One(String),
    /// Some nodes of a cluster, each with its whole address.
    Cluster(Vec<String>),
    /// Sentinels, and the name under which they know the master.
    Sentinels(Sentinels),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sentinels {
    /// The sentinels' own addresses.
    pub(crate) nodes: Vec<String>,
    /// The master's name.
    pub(crate) master: String,
    /// An address with what the master asks for: user, password, TLS. Its host means nothing.
    pub(crate) like: String,
    /// Whether all of them speak TLS.
    pub(crate) tls: bool,
}

/// `[user[:password]@]host:port[,host:port…][/path][?tls=true]`
struct Parts<'a> {
    user: &'a str,
    hosts: Vec<&'a str>,
    path: &'a str,
    tls: bool,
}

fn refuse(what: &str) -> Error {
    Error::Unusable(format!("redis.url: {what}"))
}

fn parts(rest: &str) -> Result<Parts<'_>, Error> {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let hosts: Vec<_> = hosts
        .split(',')
        .map(str::trim)
        .filter(|host| !host.is_empty())
        .collect();
    let tls = match query {
        "" | "tls=false" => false,
        "tls=true" => true,
        _ => return Err(refuse("behind the ? only tls=true is known here")),
    };
    if hosts.is_empty() {
        return Err(refuse(
            "it names no host; write redis+cluster://HOST:PORT,HOST:PORT",
        ));
    }
    Ok(Parts {
        user,
        hosts,
        path,
        tls,
    })
}

impl Parts<'_> {
    const fn scheme(&self) -> &'static str {
        if self.tls { "rediss" } else { "redis" }
    }

    /// The address of one host, with the user of all.
    fn with_user(&self, host: &str) -> String {
        let at = if self.user.is_empty() { "" } else { "@" };
        format!("{}://{}{at}{host}", self.scheme(), self.user)
    }
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// [`Error::Unusable`], with what is wrong; never with the address, which may hold a password.
    pub(crate) fn parse(url: &str) -> Result<Self, Error> {
        let address = if let Some(rest) = url.strip_prefix("redis+cluster://") {
            let parts = parts(rest)?;
            if !parts.path.is_empty() {
                return Err(refuse(
                    "a cluster has no database; leave out what stands behind the /",
                ));
            }
            Self::Cluster(parts.hosts.iter().map(|host| parts.with_user(host)).collect())
        } else if let Some(rest) = url.strip_prefix("redis+sentinel://") {
            let parts = parts(rest)?;
            if parts.path.is_empty() || parts.path.contains('/') {
                return Err(refuse(
                    "sentinels know masters by name; write redis+sentinel://HOST:26379/NAME",
                ));
            }
            let node = |host: &&str| format!("{}://{host}", parts.scheme());
            Self::Sentinels(Sentinels {
                nodes: parts.hosts.iter().map(node).collect(),
                master: parts.path.to_owned(),
                like: parts.with_user("localhost"),
                tls: parts.tls,
            })
        } else {
            Self::One(url.to_owned())
        };
        address.check()?;
        Ok(address)
    }

    /// Has the client read every single address, so that a bad one is told at once.
    fn check(&self) -> Result<(), Error> {
        let all = match self {
            Self::One(url) => std::slice::from_ref(url),
            Self::Cluster(nodes) => nodes,
            Self::Sentinels(sentinels) => &sentinels.nodes,
        };
        for url in all {
            // What the client says may hold parts of the address, but never what stands before the @.
            Client::open(url.as_str()).map_err(|error| refuse(&error.to_string()))?;
        }
        Ok(())
    }
}

impl Sentinels {
    /// User and password of the master.
    ///
    /// # Errors
    /// [`Error::Unusable`], where they can't be read.
    pub(crate) fn settings(&self) -> Result<RedisConnectionInfo, Error> {
        let info = self.like.as_str().into_connection_info();
        let info = info.map_err(|error| refuse(&error.to_string()))?;
        Ok(info.redis_settings().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        Address::parse(url).unwrap_err().to_string()
    }

    #[test]
    fn one_server_stays_as_it_is_written() {
        for url in [
            "redis://127.0.0.1:6379",
            "rediss://user:p%40ss@redis.example:6380/0",
        ] {
            assert_eq!(Address::parse(url).unwrap(), Address::One(url.to_owned()));
        }
        assert!(refusal("http://127.0.0.1").contains("redis.url"));
    }

    #[test]
    fn every_node_of_a_cluster_gets_user_and_tls() {
        let parsed = Address::parse("redis+cluster://u:p@a:1, b:2?tls=true").unwrap();
        assert_eq!(
            parsed,
            Address::Cluster(vec!["rediss://u:p@a:1".into(), "rediss://u:p@b:2".into()])
        );
        assert!(refusal("redis+cluster://").contains("no host"));
        assert!(refusal("redis+cluster://a:1/3").contains("no database"));
        assert!(refusal("redis+cluster://a:1?ssl=1").contains("tls=true"));
    }

    #[test]
    fn sentinels_name_a_master_and_the_user_is_the_masters() {
        let Address::Sentinels(sentinels) =
            Address::parse("redis+sentinel://u:p%40@a:26379,b:26379/town").unwrap()
        else {
            panic!("no sentinels")
        };
        assert_eq!(sentinels.nodes, ["redis://a:26379", "redis://b:26379"]);
        assert_eq!((sentinels.master.as_str(), sentinels.tls), ("town", false));
        let settings = sentinels.settings().unwrap();
        assert_eq!(
            (settings.username(), settings.password()),
            (Some("u"), Some("p@"))
        );
        assert!(refusal("redis+sentinel://a:26379").contains("by name"));
    }

    #[test]
    fn no_refusal_shows_a_password() {
        for url in [
            "redis+sentinel://u:secret@a:26379",
            "redis+cluster://u:secret@a:1/3",
            "redis+cluster://u:secret@a:no-port",
            "redis://u:secret@",
        ] {
            let said = refusal(url);
            assert!(!said.contains("secret"), "{said}");
        }
    }
}

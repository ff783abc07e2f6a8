//! Which mechanism of this system can confine, and what to do where none can.

use shared::error::{Error, Result};
use shared::exit::Exit;
use shared::search;
use shared::worker::Worker;
use shared::world::World;

use super::confinement::Wall;
use super::{bubblewrap, landlock, seatbelt};

/// Chooses one.
pub fn choose(world: &World, confines_network: bool) -> Result<Wall> {
    if cfg!(target_os = "macos") {
        return seatbelt::find()
            .map(Wall::Seatbelt)
            .ok_or_else(|| none("sandbox-exec is missing", "it is a part of macOS"));
    }
    match landlock::lack(confines_network) {
        None => Ok(Wall::Landlock),
        Some(lack) if confines_network => {
            Err(none(lack, "leave out --no-network, or use a kernel that has it"))
        }
        Some(lack) => match search::on_path("bwrap", &world.env).filter(|program| bubblewrap::works(program))
        {
            Some(program) => Ok(Wall::Bubblewrap(program)),
            None => Err(none(
                lack,
                "install bubblewrap where it may be used, use Linux 6.2 or newer with Landlock, or leave out --sandbox",
            )),
        },
    }
}

fn none(lack: &str, hint: &str) -> Error {
    Error::new(Exit::Config, format!("there is no sandbox here, so nothing was started: {lack}")).hint(hint)
}

/// The provider's port, where closing the others means something.
pub fn port(worker: &Worker) -> Result<u16> {
    let url = worker.base_url().map(ToString::to_string).unwrap_or_default();
    match port_in(&url) {
        Some(port) if port != 443 && port != 80 => Ok(port),
        _ => Err(Error::new(
            Exit::Config,
            format!(
                "worker `{}` talks to its provider through the port of all web servers: the network cannot be closed to its tools alone",
                worker.name
            ),
        )
        .hint("give it a base URL on this machine, such as mo-proxy's, or leave out --no-network")),
    }
}

fn port_in(url: &str) -> Option<u16> {
    let authority = url.split_once("://")?.1.split(['/', '?', '#']).next()?;
    authority.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::port_in;

    #[test]
    fn a_port_is_read_where_one_is_named() {
        assert_eq!(port_in("http://127.0.0.1:3457/x"), Some(3457));
        assert_eq!(port_in("http://[::1]:9/"), Some(9));
        assert_eq!(port_in("https://api.z.ai/a:5"), None);
    }
}

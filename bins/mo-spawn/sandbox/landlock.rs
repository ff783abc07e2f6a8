//! Landlock: the kernel confines this process and all that it will ever start. Nothing can be taken back.

use std::io;

use super::confinement::Confinement;

/// What is missing here; nothing where it confines. Before its third version a file could be emptied anywhere, before
/// its fourth no port is closed.
#[cfg(target_os = "linux")]
pub fn lack(confines_network: bool) -> Option<&'static str> {
    use landlock::{ABI, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr};
    let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let files = strict().handle_access(AccessFs::from_write(ABI::V3)).and_then(Ruleset::create);
    if files.is_err() {
        return Some("the kernel has no Landlock, or too old a one");
    }
    let ports = || strict().handle_access(AccessNet::ConnectTcp).and_then(Ruleset::create);
    (confines_network && ports().is_err()).then_some("the kernel's Landlock closes no ports")
}

#[cfg(not(target_os = "linux"))]
pub fn lack(_confines_network: bool) -> Option<&'static str> {
    Some("Landlock is a part of Linux")
}

/// Confines this process for good.
#[cfg(target_os = "linux")]
pub fn enter(confinement: &Confinement) -> io::Result<()> {
    use std::path::Path;

    use landlock::{
        ABI, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset,
        RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
    };

    use super::confinement::DEVICES;

    let failed = |error: landlock::RulesetError| io::Error::other(error.to_string());
    let files = AccessFs::from_write(ABI::V3);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(files)
        .map_err(failed)?;
    if confinement.port.is_some() {
        rules = rules.handle_access(AccessNet::ConnectTcp | AccessNet::BindTcp).map_err(failed)?;
    }
    // Newer kernels also keep it from commanding devices (a terminal among them) and processes outside.
    let rules = rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)
        .and_then(|rules| rules.scope(Scope::Signal))
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket))
        .and_then(Ruleset::create)
        .map_err(failed)?;
    let mut rules = rules;
    let devices = DEVICES.iter().map(Path::new).filter(|path| path.exists());
    for path in confinement.writable.iter().map(AsRef::as_ref).chain(devices) {
        let access =
            if path.is_dir() { files } else { AccessFs::from_file(ABI::V5) & AccessFs::from_write(ABI::V5) };
        let place = PathFd::new(path).map_err(|error| io::Error::other(error.to_string()))?;
        rules = rules.add_rule(PathBeneath::new(place, access)).map_err(failed)?;
    }
    if let Some(port) = confinement.port {
        rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp)).map_err(failed)?;
    }
    let status = rules.restrict_self().map_err(failed)?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(io::Error::other("the kernel did not confine the process"));
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn enter(_confinement: &Confinement) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

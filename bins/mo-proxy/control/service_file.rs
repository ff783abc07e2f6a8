//! What the system is told about the gateway as a service: a systemd user unit, or a LaunchAgent.

use std::path::Path;

/// The unit's name, and the agent's label.
pub const UNIT: &str = "mo-proxy.service";
/// See [`UNIT`].
pub const LABEL: &str = "model-orchestration.mo-proxy";
/// What marks a file as ours: only such a one is replaced or removed.
pub const MARK: &str = "made by mo-proxy service install";

/// A systemd user unit. The stop timeout leaves the drain its time; nothing but the workers' root is writable.
pub fn unit(program: &Path, root: &Path, environment: &[(String, String)]) -> String {
    let mut text = format!(
        "# {MARK}\n[Unit]\nDescription=mo-proxy: one Claude Code session, many models\nAfter=network-online.target\n\n\
         [Service]\nType=simple\nExecStart={} serve\nExecReload=/bin/kill -HUP $MAINPID\n",
        systemd(&program.display().to_string())
    );
    for (name, value) in environment {
        text.push_str(&format!("Environment={}\n", systemd(&format!("{name}={value}"))));
    }
    text.push_str(&format!(
        "Restart=on-failure\nRestartSec=2\nRestartPreventExitStatus=64 75 78\nTimeoutStopSec=45\nUMask=0077\n\
         NoNewPrivileges=yes\nProtectSystem=strict\nProtectHome=read-only\nReadWritePaths={}\nPrivateTmp=yes\n\
         RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\nLockPersonality=yes\nMemoryDenyWriteExecute=yes\n\
         RestrictRealtime=yes\nSystemCallArchitectures=native\n\n[Install]\nWantedBy=default.target\n",
        systemd(&root.display().to_string())
    ));
    text
}

/// Quoted as systemd reads it; `%` and `$` would be replaced.
fn systemd(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{escaped}\"")
}

/// A LaunchAgent.
pub fn agent(program: &Path, log: &Path, environment: &[(String, String)]) -> String {
    let mut variables = String::new();
    for (name, value) in environment {
        variables.push_str(&format!("    <key>{}</key>\n    <string>{}</string>\n", xml(name), xml(value)));
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- {MARK} -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>{LABEL}</string>\n  <key>ProgramArguments</key>\n  \
         <array>\n    <string>{}</string>\n    <string>serve</string>\n  </array>\n  <key>EnvironmentVariables</key>\n  \
         <dict>\n{variables}  </dict>\n  <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    \
         <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n  <key>ExitTimeOut</key>\n  <integer>45</integer>\n  \
         <key>Umask</key>\n  <integer>63</integer>\n  <key>StandardErrorPath</key>\n  <string>{}</string>\n</dict>\n</plist>\n",
        xml(&program.display().to_string()),
        xml(&log.display().to_string())
    )
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_what_they_are() {
        let unit =
            unit(Path::new("/a b/100%/$x/mo-proxy"), Path::new("/r\"oot"), &[("A".into(), "b c".into())]);
        assert!(unit.contains("ExecStart=\"/a b/100%%/$$x/mo-proxy\" serve\n"), "{unit}");
        assert!(unit.contains("ReadWritePaths=\"/r\\\"oot\"\n"), "{unit}");
        assert!(unit.contains("Environment=\"A=b c\"\n"), "{unit}");
        let agent = agent(Path::new("/a&b/mo-proxy"), Path::new("/l<og"), &[]);
        assert!(agent.contains("<string>/a&amp;b/mo-proxy</string>"), "{agent}");
        assert!(agent.contains("<string>/l&lt;og</string>"), "{agent}");
    }
}

//! The proxies, and what of their files is another on this machine: ports, the service's address, and certificates.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// A configuration of the repository, and how its program is called.
pub(super) struct Kind {
    /// In `packaging`.
    pub(super) file: &'static str,
    pub(super) program: &'static str,
    /// What the file says, and what stands there instead. Each must be in the file.
    pub(super) changes: fn(&Here) -> Vec<(&'static str, String)>,
    /// What the program is told beside the file, if that needs a file of its own.
    pub(super) around: fn(&Here, String) -> (String, Option<String>),
    /// Adds the arguments; the first path is the file's, the second that of the file around it.
    pub(super) arguments: fn(&mut Command, &Path, &Path),
    pub(super) sites: fn(&Here) -> Vec<Site>,
}

/// Where things are in this run.
#[derive(Debug, Clone)]
pub(super) struct Here {
    pub(super) service: SocketAddr,
    pub(super) http: SocketAddr,
    pub(super) https: SocketAddr,
    pub(super) folder: String,
}

/// Where a proxy shows the service.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// Without a slash at the end.
    pub(super) url: String,
    /// What the page's links start with.
    pub(super) base: &'static str,
}

/// What the files, and so the certificates, are for.
pub(super) const HOSTS: [&str; 2] = ["tables.example.com", "www.example.com"];
const CERTIFICATES: &str = "/etc/ssl/rowmill";
const SERVICE: &str = "127.0.0.1:8080";

pub(super) const KINDS: &[Kind] = &[
    Kind {
        file: "proxies/nginx.conf",
        program: "nginx",
        changes: |here| {
            vec![
                (SERVICE, here.service.to_string()),
                (CERTIFICATES, here.folder.clone()),
                ("listen 80;", format!("listen {};", here.http)),
                ("listen 443 ", format!("listen {} ", here.https)),
            ]
        },
        around: |here, text| (text, Some(around_nginx(&here.folder))),
        arguments: |command, _, around| {
            command.args(["-e", "stderr", "-c"]).arg(around);
        },
        sites: secure,
    },
    Kind {
        file: "proxies/Caddyfile",
        program: "caddy",
        changes: |here| vec![(SERVICE, here.service.to_string()), (CERTIFICATES, here.folder.clone())],
        around: |here, text| {
            let (http, https) = (here.http.port(), here.https.port());
            let options = format!(
                "{{\n\tadmin off\n\thttp_port {http}\n\thttps_port {https}\n\tdefault_bind 127.0.0.1\n}}\n"
            );
            (options + &text, None)
        },
        arguments: |command, own, _| {
            command.args(["run", "--adapter", "caddyfile", "--config"]).arg(own);
        },
        sites: secure,
    },
    Kind {
        file: "proxies/haproxy.cfg",
        program: "haproxy",
        changes: |here| {
            vec![
                (SERVICE, here.service.to_string()),
                (CERTIFICATES, here.folder.clone()),
                ("bind :80\n", format!("bind {}\n", here.http)),
                ("bind :443 ", format!("bind {} ", here.https)),
            ]
        },
        around: |_, text| (text, None),
        arguments: haproxy,
        sites: secure,
    },
    // That of compose.postgres.yml.
    Kind {
        file: "haproxy.cfg",
        program: "haproxy",
        changes: |here| {
            vec![
                ("bind :8080", format!("bind {}", here.http)),
                ("server-1:8080", here.service.to_string()),
                ("server-2:8080", here.service.to_string()),
            ]
        },
        around: |_, text| (text, None),
        arguments: haproxy,
        sites: |here| vec![Site { url: format!("http://{}", here.http), base: "/" }],
    },
];

fn haproxy(command: &mut Command, own: &Path, _: &Path) {
    command.arg("-f").arg(own);
}

fn secure(here: &Here) -> Vec<Site> {
    let port = here.https.port();
    vec![
        Site { url: format!("https://tables.example.com:{port}"), base: "/" },
        Site { url: format!("https://www.example.com:{port}/tables"), base: "/tables/" },
    ]
}

/// A site's file is included by the system's own. One process, which ends when it is told to.
fn around_nginx(folder: &str) -> String {
    let places: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("    {name}_temp_path {folder}/{name};\n"))
        .concat();
    format!(
        "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nevents {{}}\nhttp {{\n    access_log off;\n{places}    \
         include {folder}/nginx.conf;\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_shows_the_files_as_they_are() {
        let guide = include_str!("../../../docs/proxies.md");
        for kind in KINDS.iter().filter(|kind| kind.file.starts_with("proxies/")) {
            let path = crate::process::root().join("packaging").join(kind.file);
            let text = std::fs::read_to_string(path).unwrap();
            assert!(guide.contains(&text), "docs/proxies.md shows another {}", kind.file);
        }
    }
}

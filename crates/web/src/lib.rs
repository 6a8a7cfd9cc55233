//! The web application, as it was built from `web/`: files that are served as they are.

/// One file, with what a browser is told about it.
#[derive(Debug)]
pub struct File {
    /// From the application's root, without a slash before it: `assets/index-Dk2f.js`.
    pub path: &'static str,
    pub bytes: &'static [u8],
    /// The same compressed, where that makes it smaller.
    pub gzip: Option<&'static [u8]>,
    pub brotli: Option<&'static [u8]>,
    /// Hex of the contents' SHA-256.
    pub hash: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The page that everything begins with.
pub const INDEX: &str = "index.html";

/// Every file there is.
pub fn files() -> &'static [File] {
    FILES
}

/// The page that everything begins with, as text.
pub fn index() -> &'static str {
    let page = FILES.iter().find(|file| file.path == INDEX);
    page.and_then(|file| std::str::from_utf8(file.bytes).ok()).unwrap_or_default()
}

impl File {
    /// Whether its name changes with its contents, so that a browser may keep it for ever.
    pub fn is_immutable(&self) -> bool {
        self.path.starts_with("assets/")
    }

    pub fn content_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "html" => "text/html; charset=utf-8",
            "js" | "mjs" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "json" | "map" => "application/json",
            "webmanifest" => "application/manifest+json",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "ico" => "image/x-icon",
            "woff2" => "font/woff2",
            "txt" => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_and_what_it_needs_are_there() {
        let page = index();
        assert!(page.contains("<head"), "{page}");
        let script = page.split('"').find(|part| part.contains("assets/index") && part.contains(".js"));
        let script = script.expect("the page was not built: install Node.js with npm and build again");
        let path = script.trim_start_matches(['.', '/']);
        let file = files().iter().find(|file| file.path == path).expect("the page's script");
        assert!(file.is_immutable() && file.content_type().starts_with("text/javascript"));
        assert!(files().iter().all(|file| file.hash.len() == 64 && !file.bytes.is_empty()));
    }
}

//! No circular imports: neither between files nor between folders.
//!
//! Imports of types count as well. They are gone when the page runs, but whoever reads one of two files that name each
//! other has to read both.

use std::collections::BTreeSet;

use super::graph::{Circle, Graph, Place};
use super::modules::{folder_of, normal};
use super::offence::Offence;
use super::tree::{File, Tree};

/// Where the page's sources are. Imports within them are relative.
const WEB: &str = "web/src/";
/// What an import may leave out at its end.
const ENDINGS: &[&str] = &["", ".ts", ".tsx", "/index.ts", "/index.tsx"];

pub(super) fn between_web_files(tree: &Tree) -> Vec<Offence> {
    offences("circle", "files", &web_imports(tree, |path| path))
}

pub(super) fn between_web_folders(tree: &Tree) -> Vec<Offence> {
    offences("folder-circle", "folders", &web_imports(tree, folder_of))
}

/// One offence a circle, at the first import of the example it tells.
pub(super) fn offences(rule: &'static str, nodes: &str, graph: &Graph) -> Vec<Offence> {
    let offence = |circle: Circle| {
        let words = format!(
            "{} {nodes} name each other in a circle ({}): move what they share to a lower one",
            circle.size,
            circle.example.join(" → ")
        );
        Offence::new(&circle.place.path, circle.place.line, rule, words)
    };
    graph.circles().into_iter().map(offence).collect()
}

/// Who imports whom among the page's files, each called what `name` makes of its path.
fn web_imports(tree: &Tree, name: fn(&str) -> &str) -> Graph {
    let inside = |file: &&File| file.path.starts_with(WEB);
    let paths: BTreeSet<&str> = tree.files.iter().filter(inside).map(|file| file.path.as_str()).collect();
    let mut graph = Graph::default();
    for file in tree.with_extension(&["ts", "tsx"]).filter(inside) {
        for (line, specifier) in imports(file) {
            let target = normal(&format!("{}/{specifier}", folder_of(&file.path)));
            let candidates = ENDINGS.iter().map(|ending| format!("{target}{ending}"));
            // What is generated, or comes from a package, is not in the tree.
            if let Some(found) = candidates.into_iter().find(|path| paths.contains(path.as_str())) {
                graph.add(name(&file.path), name(&found), Place { path: file.path.clone(), line });
            }
        }
    }
    graph
}

/// The relative specifiers of `import … from '…'`, `export … from '…'`, `import '…'` and `import('…')`, with their
/// lines. A statement over several lines is found by its last one.
fn imports(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let code = |line: &&str| !["//", "/*", "*"].iter().any(|comment| line.trim_start().starts_with(comment));
    file.lines()
        .filter(move |(_, line)| code(line))
        .flat_map(|(number, line)| specifiers(line).map(move |specifier| (number, specifier)))
}

fn specifiers(line: &str) -> impl Iterator<Item = &str> {
    let markers = ["from ", "import ", "import("];
    markers.into_iter().flat_map(move |marker| {
        line.match_indices(marker).filter_map(move |(offset, _)| {
            let rest = line.get(offset + marker.len()..)?;
            let quote = rest.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
            let (specifier, _) = rest.get(1..)?.split_once(quote)?;
            specifier.starts_with('.').then_some(specifier)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::offence::check;

    #[test]
    fn files_that_import_each_other() {
        let tree = Tree::of_files(&[
            ("web/src/a.ts", "import { b } from './b';\n"),
            ("web/src/b.ts", "import {\n  c,\n} from \"./c\";\n"),
            ("web/src/c.tsx", "import './c.css';\nimport type { A } from './a';\n"),
            ("web/src/c.css", ""),
            // It leads into the circle, and is no part of it.
            ("web/src/d.ts", "import { a } from './a';\n"),
        ]);
        check(between_web_files, &tree, &["web/src/a.ts:1"]);
        let told = between_web_files(&tree);
        let words = told.first().map_or("", |offence| offence.words.as_str());
        assert!(words.contains("web/src/a.ts → web/src/b.ts → web/src/c.tsx → web/src/a.ts"), "{words}");
    }

    #[test]
    fn imports_later_and_exports_count() {
        let tree = Tree::of_files(&[
            ("web/src/a.ts", "\nconst b = lazy(() => import('./b'));\n"),
            ("web/src/b/index.ts", "export { a } from '../a';\n"),
        ]);
        check(between_web_files, &tree, &["web/src/a.ts:2"]);
        check(between_web_folders, &tree, &["web/src/a.ts:2"]);
    }

    #[test]
    fn folders_that_import_each_other() {
        let tree = Tree::of_files(&[
            ("web/src/api/a.ts", "import { b } from '../ui/b';\n"),
            ("web/src/api/c.ts", ""),
            ("web/src/ui/b.ts", ""),
            ("web/src/ui/d.ts", "import { c } from '../api/c';\n"),
        ]);
        check(between_web_files, &tree, &[]);
        check(between_web_folders, &tree, &["web/src/api/a.ts:1"]);
    }

    #[test]
    fn a_parent_may_import_its_children_and_comments_do_not_count() {
        let tree = Tree::of_files(&[
            ("web/src/table/Page.tsx", "import { b } from './grid/b';\nimport react from 'react';\n"),
            ("web/src/table/grid/b.ts", "// import { Page } from '../Page';\n/** from '../Page' */\n"),
            ("web/tests/a.ts", "import { b } from './b';\n"),
            ("web/tests/b.ts", "import { a } from './a';\n"),
        ]);
        check(between_web_files, &tree, &[]);
        check(between_web_folders, &tree, &[]);
    }
}

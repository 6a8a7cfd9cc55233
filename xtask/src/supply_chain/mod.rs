//! The supply chain: what the product is made of, under which licences, and whether that is as `deny.toml` wants it.

mod advisories;
mod check;
mod component;
mod crates;
mod licence_texts;
mod notices;
mod npm;
mod rules;
mod sbom;
mod shipped;

pub(crate) use advisories::check_advisories;
pub(crate) use check::check;
pub(crate) use notices::{path as notices_path, write as write_notices};
pub(crate) use sbom::{bill_of_materials, print as print_bill_of_materials};

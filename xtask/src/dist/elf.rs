//! What a Linux program is: for which processor, and what it needs of the system's C library.

use std::fs;
use std::path::Path;

use crate::process::AnyResult;

const MAGIC: &[u8] = b"\x7fELF";
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const PROGRAM_HEADER_INTERPRETER: u32 = 3;
const GLIBC: &[u8] = b"GLIBC_2.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) machine: Machine,
    pub(super) linkage: Linkage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Machine {
    X86_64,
    Aarch64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Linkage {
    Static,
    /// Needs at least glibc 2.`minor`.
    Glibc {
        minor: u32,
    },
}

impl Machine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Debian calls it.
    pub(super) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }
}

impl Linkage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Glibc { .. } => "glibc",
        }
    }
}

impl Program {
    pub(super) fn read(path: &Path) -> AnyResult<Self> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        parse(&bytes).ok_or_else(|| {
            format!("{}: no 64-bit Linux program for x86_64 or aarch64", path.display()).into()
        })
    }
}

fn parse(bytes: &[u8]) -> Option<Program> {
    let is_known = bytes.starts_with(MAGIC) && bytes.get(4..6)? == [CLASS_64, LITTLE_ENDIAN];
    let machine = match number::<2>(bytes, 18)? {
        62 => Machine::X86_64,
        183 => Machine::Aarch64,
        _ => return None,
    };
    let (start, size, count) = (number::<8>(bytes, 32)?, number::<2>(bytes, 54)?, number::<2>(bytes, 56)?);
    let kinds = (0..count).map(|index| number::<4>(bytes, start.checked_add(index * size)?));
    let kinds: Option<Vec<usize>> = kinds.collect();
    let needs_loader = kinds?.contains(&(PROGRAM_HEADER_INTERPRETER as usize));
    let linkage = if needs_loader { Linkage::Glibc { minor: glibc_minor(bytes) } } else { Linkage::Static };
    is_known.then_some(Program { machine, linkage })
}

fn number<const SIZE: usize>(bytes: &[u8], start: usize) -> Option<usize> {
    let field = bytes.get(start..start.checked_add(SIZE)?)?;
    usize::try_from(field.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))).ok()
}

/// The names of versions lie in the program as text: `GLIBC_2.34`.
fn glibc_minor(bytes: &[u8]) -> u32 {
    let mut highest = 0;
    let mut rest = bytes;
    while let Some(place) = find(rest, GLIBC) {
        rest = rest.get(place + GLIBC.len()..).unwrap_or_default();
        let digits = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit());
        highest = highest.max(digits.fold(0, |number, digit| number * 10 + u32::from(digit - b'0')));
    }
    highest
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut start = 0;
    loop {
        let place = start + bytes.get(start..)?.iter().position(|byte| *byte == first)?;
        if bytes.get(place..)?.starts_with(wanted) {
            return Some(place);
        }
        start = place + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with program headers of these kinds, and some text.
    fn program(machine: u16, kinds: &[u32], text: &str) -> Vec<u8> {
        let mut bytes = vec![0_u8; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&u16::try_from(kinds.len()).unwrap().to_le_bytes());
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.extend([0; 52]);
        }
        bytes.extend(text.as_bytes());
        bytes
    }

    #[test]
    fn programs() {
        let (x86_64, aarch64) = (62, 183);
        let of = |machine, linkage| Some(Program { machine, linkage });
        assert_eq!(parse(&program(x86_64, &[1, 6], "GLIBC_2.9")), of(Machine::X86_64, Linkage::Static));
        let needed = "GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE GLIBC_2.";
        assert_eq!(
            parse(&program(aarch64, &[6, 3], needed)),
            of(Machine::Aarch64, Linkage::Glibc { minor: 34 })
        );
        assert_eq!(parse(&program(8, &[], "")), None);
        assert_eq!(parse(b"#!/bin/sh\n"), None);
        let cut = program(x86_64, &[1, 3], "");
        assert_eq!(parse(&cut[..70]), None);
    }
}

//! Whether the name of a package says exactly which version is meant.

use super::{Floating, Registry};
use crate::config::command_line::UNKNOWN;
use crate::config::expand::{VARIABLE, is_name};

/// The package, where it is not one version alone.
pub(super) fn floating(package: &str, registry: Registry) -> Option<Floating> {
    if package.contains(UNKNOWN) {
        return Some(Floating::unclear(&[package]));
    }
    // The name of an image may begin with a variable for the place that it comes from.
    let is_chosen = registry != Registry::Images && variable(package).is_some();
    if package.is_empty() || is_variable(package) || is_chosen || is_local(package) {
        return None;
    }
    if package.contains("://") && is_archive(package) {
        return (!names_version(package)).then(|| Floating::Page(package.to_owned()));
    }
    let pinned = match registry {
        Registry::Npm if is_repository(package) => remote(package, '#'),
        Registry::Npm => npm(package),
        Registry::Go => go(package),
        Registry::Deno => {
            if let Some(page) = page(package) {
                return Some(page);
            }
            let (kind, name) = package.split_once(':')?;
            if !["npm", "jsr"].contains(&kind) {
                return None;
            }
            npm(name).map(|pinned| format!("{kind}:{pinned}"))
        }
        Registry::Python => python(package),
        Registry::Images => image(package),
    };
    pinned.map(|pinned| Floating::Package { package: package.to_owned(), pinned })
}

/// What follows the variable that a text begins with.
fn variable(text: &str) -> Option<&str> {
    let (name, rest) = text.strip_prefix(VARIABLE)?.split_once('}')?;
    is_name(name).then_some(rest)
}

/// Whether a text is a variable and nothing else.
pub(super) fn is_variable(text: &str) -> bool {
    variable(text) == Some("")
}

/// An address that is run, where it does not say which version of what is there.
pub(super) fn page(address: &str) -> Option<Floating> {
    let (scheme, path) = address.split_once("://")?;
    let is_version = |part: &str| {
        let version = part.rsplit_once('@').map(|(_, version)| version);
        let is_whole_commit = is_commit(part) && part.len() >= 40;
        version.is_some_and(|it| is_exact(it, 2) || is_commit(it)) || is_whole_commit
    };
    let is_pinned = scheme == "file" || path.split('/').skip(1).any(is_version);
    (!is_pinned).then(|| Floating::Page(address.to_owned()))
}

/// Whether it is a file or directory.
fn is_local(package: &str) -> bool {
    let starts = ["./", "../", "/", "~", "file:"];
    package == "." || starts.iter().any(|start| package.starts_with(start))
}

fn npm(package: &str) -> Option<String> {
    if is_remote(package) {
        return remote(package, '#');
    }
    let (scope, rest) = match package.strip_prefix('@') {
        Some(rest) => ("@", rest),
        None => ("", package),
    };
    // A name may go on with a path to one of its parts, as Deno has it.
    let (name, version) = rest.split_once('@').unwrap_or((rest, ""));
    let version = version.split('/').next().unwrap_or_default();
    (!is_exact(version, 3)).then(|| format!("{scope}{name}@1.2.3"))
}

/// Whether it names a repository of GitHub by its owner and name, as npm lets one do.
fn is_repository(package: &str) -> bool {
    let name = package.split('#').next().unwrap_or_default();
    name.matches('/').count() == 1 && !name.contains(['@', ':'])
}

/// A program of Go: what has no version is one of this project.
fn go(package: &str) -> Option<String> {
    let (name, version) = package.split_once('@')?;
    let is_one = is_exact(version, 3) || is_commit(version);
    (!is_one).then(|| format!("{name}@v1.2.3"))
}

fn python(package: &str) -> Option<String> {
    let package = package.trim();
    if let Some((name, address)) = package.split_once('@').filter(|(_, it)| is_remote(it.trim())) {
        return remote(address.trim(), '@').map(|pinned| format!("{name}@{pinned}"));
    }
    if is_remote(package) {
        return remote(package, '@');
    }
    let end = package.find(['=', '<', '>', '~', '!', '@', ';', ' ']).unwrap_or(package.len());
    let (name, rest) = package.split_at(end);
    let rest = rest.split(';').next().unwrap_or_default().trim();
    let version = rest.strip_prefix("===").or_else(|| rest.strip_prefix("=="));
    let version = version.or_else(|| rest.strip_prefix('@')).unwrap_or_default().trim();
    (!is_exact(version, 1)).then(|| format!("{name}==1.2.3"))
}

fn image(image: &str) -> Option<String> {
    let digest = image.rsplit_once('@').map(|(_, digest)| digest);
    if digest.is_some_and(|it| it.starts_with("sha256:") || is_variable(it)) {
        return None;
    }
    let (directory, last) = image.rsplit_once('/').map_or(("", image), |it| it);
    let (name, tag) = last.split_once(':').unwrap_or((last, ""));
    let is_date = tag.len() >= 8 && tag.bytes().filter(u8::is_ascii_digit).count() >= 8;
    if is_exact(tag, 2) || is_date || is_commit(tag) {
        return None;
    }
    let name = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
    Some(format!("{name}:1.2.3"))
}

fn is_remote(package: &str) -> bool {
    package.contains("://")
        || ["git+", "github:", "gitlab:"].iter().any(|it| package.starts_with(it))
}

/// A repository or an archive: pinned by a commit, or by a tag that is a version.
fn remote(package: &str, mark: char) -> Option<String> {
    let path = package.split_once("://").map_or(package, |(_, path)| path);
    // What stands before the first slash may be somebody's name at a host.
    let path = path.split_once('/').map_or(path, |(_, path)| path);
    let rest = path.rsplit_once(mark).map_or("", |(_, revision)| revision);
    let revision = rest.split(['#', '&']).next().unwrap_or_default();
    let is_one = is_archive(package) && names_version(package);
    if is_one || is_exact(revision, 2) || is_commit(revision) {
        return None;
    }
    let bare = match (rest, package.rsplit_once(mark)) {
        ("", _) | (_, None) => package,
        (_, Some((bare, _))) => bare,
    };
    Some(format!("{bare}{mark}COMMIT"))
}

/// The endings of archives in which packages come.
const ARCHIVES: [&str; 4] = [".tgz", ".tar.gz", ".whl", ".zip"];

fn is_archive(address: &str) -> bool {
    ARCHIVES.iter().any(|ending| address.ends_with(ending))
}

/// Whether the path of an archive says which version is in it.
fn names_version(address: &str) -> bool {
    let path = address.split_once("://").map_or(address, |(_, path)| path);
    let path = path.split_once('/').map_or("", |(_, path)| path);
    let path = ARCHIVES.iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path);
    path.split(['/', '-', '_', '@']).any(|part| is_exact(part, 2) || is_commit(part))
}

/// Whether a text is one version of at least so many numbers: no range, no tag, no blank.
fn is_exact(version: &str, numbers: usize) -> bool {
    if variable(version).is_some() {
        return true;
    }
    let version = version.strip_prefix('v').unwrap_or(version);
    let plain = version.split(['-', '+']).next().unwrap_or_default();
    let is_number = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_digit())
            && part.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+_!".contains(c);
    plain.split('.').count() >= numbers
        && plain.split('.').take(numbers).all(is_number)
        && version.chars().all(is_plain)
}

fn is_commit(revision: &str) -> bool {
    (7..=64).contains(&revision.len())
        && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
        && revision.bytes().any(|byte| byte.is_ascii_digit())
}

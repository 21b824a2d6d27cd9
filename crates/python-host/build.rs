//! Hashes the Python that the program carries, so that no start has to.

use std::fs;

/// Names the files.
const LIST: &str = "src/payload/list.rs";

fn main() {
    println!("cargo::rerun-if-changed={LIST}");
    let list = fs::read_to_string(LIST).expect("the list of files can be read");
    let names = list.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","));
    let mut hasher = blake3::Hasher::new();
    for name in names {
        let file = format!("python/{name}");
        println!("cargo::rerun-if-changed={file}");
        let bytes = fs::read(&file).expect("a listed file can be read");
        for part in [name.as_bytes(), &bytes] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    println!("cargo::rustc-env=PAYLOAD={}", &hasher.finalize().to_hex()[..32]);
}

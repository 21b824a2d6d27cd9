//! The text of `.docx` and `.xlsx` files, which are ZIP archives of XML. Formulas give their stored
//! values, and dates Excel's numbers of days.

mod xml;

use std::collections::HashMap;

use miniz_oxide::inflate::decompress_to_vec_with_limit;

use xml::{Token, Tokens};

/// Bytes of one unpacked file.
const MAX_UNPACKED: usize = 64 << 20;
/// Columns of a sheet in Excel.
const MAX_COLUMNS: usize = 16_384;

const END_RECORD: &[u8] = b"PK\x05\x06";
const CENTRAL_RECORD: &[u8] = b"PK\x01\x02";

/// The paragraphs of a `.docx` file, with blank lines between them.
pub(super) fn document(bytes: &[u8]) -> Result<String, String> {
    let page = Archive::new(bytes)?.text("word/document.xml")?;
    let paragraphs = texts(&page, "p").into_iter().map(|paragraph| paragraph.trim().to_owned());
    Ok(paragraphs.filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n\n"))
}

/// The sheets of an `.xlsx` file as CSV, each below its name.
pub(super) fn workbook(bytes: &[u8]) -> Result<String, String> {
    let archive = Archive::new(bytes)?;
    let book = archive.text("xl/workbook.xml")?;
    let relations = archive.text("xl/_rels/workbook.xml.rels")?;
    let files: HashMap<String, String> = elements(&relations, "relationship")
        .filter_map(|it| Some((attribute(&it, "id")?, attribute(&it, "target")?)))
        .collect();
    // A workbook without texts does not have this file.
    let shared =
        archive.text("xl/sharedStrings.xml").map_or_else(|_| Vec::new(), |it| texts(&it, "si"));
    let mut sheets = Vec::new();
    for sheet in elements(&book, "sheet") {
        let name = attribute(&sheet, "name").unwrap_or_default();
        let file = attribute(&sheet, "r:id").and_then(|id| files.get(&id).cloned());
        let file = file.ok_or_else(|| format!("the sheet {name} has no file"))?;
        let inside = format!("xl/{file}");
        let path = file.strip_prefix('/').unwrap_or(&inside);
        sheets.push(format!("# {name}\n{}", rows(&archive.text(path)?, &shared)?));
    }
    Ok(sheets.join("\n"))
}

/// The text in each element of a name.
fn texts(page: &str, element: &str) -> Vec<String> {
    let (mut texts, mut current, mut is_text) = (Vec::new(), String::new(), false);
    for token in Tokens::new(page) {
        match token {
            Token::Text(text) if is_text => current.push_str(&text),
            Token::Open { name, is_closed, .. } => match local(&name) {
                "t" => is_text = !is_closed,
                "tab" => current.push('\t'),
                "br" | "cr" => current.push('\n'),
                _ => {}
            },
            Token::Close(name) if local(&name) == "t" => is_text = false,
            Token::Close(name) if local(&name) == element => {
                texts.push(std::mem::take(&mut current));
            }
            Token::Text(_) | Token::Close(_) => {}
        }
    }
    texts
}

fn rows(page: &str, shared: &[String]) -> Result<String, String> {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    let (mut row, mut column): (Vec<String>, usize) = (Vec::new(), 0);
    let (mut value, mut kind, mut is_value) = (String::new(), String::new(), false);
    for token in Tokens::new(page) {
        match token {
            Token::Text(text) if is_value => value.push_str(&text),
            Token::Text(_) => {}
            Token::Open { name, attributes, is_closed } => match local(&name) {
                "c" => {
                    let reference = attribute(&attributes, "r");
                    column = reference.and_then(|it| column_of(&it)).unwrap_or(row.len());
                    kind = attribute(&attributes, "t").unwrap_or_default();
                    value.clear();
                }
                "v" | "t" => is_value = !is_closed,
                _ => {}
            },
            Token::Close(name) => match local(&name) {
                "v" | "t" => is_value = false,
                "c" if column < MAX_COLUMNS => {
                    let text = match (kind.as_str(), value.as_str()) {
                        ("s", index) => index.parse().ok().and_then(|it: usize| shared.get(it)),
                        _ => Some(&value),
                    };
                    row.resize(row.len().max(column + 1), String::new());
                    row[column] = text.cloned().unwrap_or_default();
                }
                "row" if row.iter().any(|cell| !cell.is_empty()) => {
                    writer.write_record(&row).map_err(|error| error.to_string())?;
                    row.clear();
                }
                "row" => row.clear(),
                _ => {}
            },
        }
    }
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The index of the column of a cell, such as 27 for `AB7`.
fn column_of(reference: &str) -> Option<usize> {
    let letters = reference.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters.fold(0_usize, |sum, letter| {
        sum.saturating_mul(26).saturating_add(usize::from(letter.to_ascii_uppercase() - b'A') + 1)
    });
    number.checked_sub(1)
}

type Attributes = Vec<(String, String)>;

fn elements<'a>(page: &'a str, wanted: &'a str) -> impl Iterator<Item = Attributes> + 'a {
    Tokens::new(page).filter_map(move |token| match token {
        Token::Open { name, attributes, .. } if local(&name) == wanted => Some(attributes),
        _ => None,
    })
}

fn attribute(attributes: &Attributes, name: &str) -> Option<String> {
    attributes.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone())
}

/// The name of an element without its namespace.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// The files of a ZIP archive: their methods of compression and their compressed bytes.
struct Archive<'a>(HashMap<String, (usize, &'a [u8])>);

impl<'a> Archive<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, String> {
        Self::listed(bytes).ok_or_else(|| String::from("this is not a ZIP archive"))
    }

    fn listed(bytes: &'a [u8]) -> Option<Self> {
        let end = memchr::memmem::rfind(bytes, END_RECORD)?;
        let mut at = number(bytes, end + 16, 4)?;
        let mut files = HashMap::new();
        for _ in 0..number(bytes, end + 10, 2)? {
            bytes.get(at..)?.starts_with(CENTRAL_RECORD).then_some(())?;
            let [method, name_length, extra_length, comment_length] =
                [10, 28, 30, 32].map(|field| number(bytes, at + field, 2));
            let (size, header) = (number(bytes, at + 20, 4)?, number(bytes, at + 42, 4)?);
            let start =
                header + 30 + number(bytes, header + 26, 2)? + number(bytes, header + 28, 2)?;
            let name_end = at + 46 + name_length?;
            let name = String::from_utf8_lossy(bytes.get(at + 46..name_end)?).into_owned();
            files.insert(name, (method?, bytes.get(start..start + size)?));
            at = name_end + extra_length? + comment_length?;
        }
        Some(Self(files))
    }

    fn text(&self, name: &str) -> Result<String, String> {
        let file = self.0.get(name).ok_or_else(|| format!("{name} is missing in it"))?;
        let bytes = match *file {
            (0, bytes) => bytes.to_owned(),
            (8, bytes) => decompress_to_vec_with_limit(bytes, MAX_UNPACKED)
                .map_err(|_| format!("{name} in it is damaged"))?,
            _ => return Err(format!("{name} in it is compressed in an unknown way")),
        };
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A little-endian number of some bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

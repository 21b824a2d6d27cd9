//! How long a key takes to be on the screen of the interactive interface: while nothing happens,
//! and while a reply streams in. Each key is in turns with one for a program that only gives back
//! what it reads, so that what the machine adds is seen beside it.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use testkit::{ModelServer, Reply, Terminal};

use crate::job::Rig;
use crate::report::{Aim, Report, Row, Unit, milliseconds};

const SIZE: (u16, u16) = (200, 60);
const KEYS: usize = 400;
/// Pieces of a reply in a millisecond.
const PIECES: usize = 10;
const SECONDS: usize = 60;
/// Letters that neither the reply nor the terminal's own sequences have.
const LETTERS: &[u8] = b"QZXVWYUGNOPERTI";

/// Measures both.
pub(crate) fn measure(report: &mut Report) {
    let mut chance = Chance(7);
    let (body, piece) = reply(&mut chance);
    let reply = Reply::bytes(body).chunk_size(piece * PIECES).pace(Duration::from_millis(1));
    let server = ModelServer::start([reply]);
    let rig = Rig::with_model(&server);
    let ours = rig.terminal(SIZE);
    let shell = ["-c", "stty raw -echo; echo ready; exec cat"].map(Into::into);
    let env = [("PATH".into(), "/usr/bin:/bin".into())];
    let limit = Terminal::start(Path::new("/bin/sh"), &shell, &env, Path::new("/"), SIZE);
    ours.wait_for("write to the model");
    limit.wait_for("ready");
    keys(report, "idle", (&ours, &limit), &mut chance);
    ours.send("\x15go\r");
    ours.wait_for("┃ go");
    let name = format!("at {} pieces a second", PIECES * 1000);
    keys(report, &name, (&ours, &limit), &mut chance);
}

/// Presses keys here and there in turns.
fn keys(
    report: &mut Report,
    state: &str,
    (ours, limit): (&Terminal, &Terminal),
    chance: &mut Chance,
) {
    let (mut figures, mut limits) = (Vec::new(), Vec::new());
    for number in 0..KEYS {
        let key = char::from(LETTERS[number % LETTERS.len()]).to_string();
        figures.push(ours.time_until_written(&key, &key));
        limits.push(limit.time_until_written(&key, &key));
        if number % LETTERS.len() == LETTERS.len() - 1 {
            ours.send("\x15");
        }
        // No rhythm, or a key might always meet the same part of a frame.
        std::thread::sleep(Duration::from_millis(3 + chance.below(20)));
    }
    figures.sort();
    limits.sort();
    for percent in [50, 95, 99] {
        let at = KEYS * percent / 100;
        report.add(Row {
            what: format!("a key on the screen, {state}, {percent} of 100 within"),
            unit: Unit::Milliseconds,
            figure: milliseconds(figures[at]),
            limit: Some(milliseconds(limits[at])),
            aim: Aim::Figure(10.0),
        });
    }
}

/// The body of a long reply whose pieces are all as long, and how long that is.
fn reply(chance: &mut Chance) -> (String, usize) {
    let mut body = String::new();
    let mut piece = 0;
    for number in 0..SECONDS * 1000 * PIECES {
        let word: String = (0..5).map(|_| char::from(b'a' + chance.letter())).collect();
        let end = if number % 23 == 22 { "\\n" } else { "  " };
        let end = if number % 230 == 229 { "\\n\\n" } else { end };
        let before = body.len();
        let _ = write!(
            body,
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}{end}\"}}}}]}}\n\n"
        );
        piece = piece.max(body.len() - before);
    }
    (body, piece)
}

/// Numbers without a pattern, the same in every run.
struct Chance(u32);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u64::from(self.0 >> 8) % most
    }

    fn letter(&mut self) -> u8 {
        u8::try_from(self.below(26)).unwrap_or(0)
    }
}

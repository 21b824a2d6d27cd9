//! The private channel to a process: two pipes that reach it under agreed numbers, out of reach of
//! whatever it prints.

use std::io;
use std::os::fd::OwnedFd;

use contract::sandbox::{Channel, ChannelEnds};
use tokio::net::unix::pipe::{Receiver, Sender};

/// Both sides of a channel, before the process gets its own.
pub(crate) struct PrivateChannel {
    pub(crate) ours: ChannelEnds,
    /// The ends of the process: one to read from, one to write to.
    pub(crate) theirs: [OwnedFd; 2],
}

impl PrivateChannel {
    /// Opens a channel if one is asked for. Needs a runtime.
    pub(crate) fn open(wanted: Channel) -> io::Result<Option<Self>> {
        match wanted {
            Channel::None => return Ok(None),
            Channel::Terminal => return Self::terminal(),
            Channel::Private => {}
        }
        let (their_reader, writer) = io::pipe()?;
        let (reader, their_writer) = io::pipe()?;
        let ours = ChannelEnds {
            reader: Box::new(Receiver::from_owned_fd(reader.into())?),
            writer: Box::new(Sender::from_owned_fd(writer.into())?),
        };
        Ok(Some(Self { ours, theirs: [their_reader.into(), their_writer.into()] }))
    }

    /// Makes a terminal; the process gets it twice, as the helper expects of a channel.
    #[cfg(target_os = "linux")]
    fn terminal() -> io::Result<Option<Self>> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let nix::pty::OpenptyResult { master, slave } = nix::pty::openpty(None, None)?;
        let mut modes = tcgetattr(&slave)?;
        modes.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&slave, OptionalActions::Now, &modes)?;
        rustix::fs::fcntl_setfl(&master, rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NONBLOCK)?;
        for descriptor in [&master, &slave] {
            rustix::io::fcntl_setfd(descriptor, rustix::io::FdFlags::CLOEXEC)?;
        }
        let reader = std::fs::File::from(master.try_clone()?);
        let ours = ChannelEnds {
            reader: Box::new(Receiver::from_file_unchecked(reader)?),
            writer: Box::new(Sender::from_file_unchecked(std::fs::File::from(master))?),
        };
        Ok(Some(Self { ours, theirs: [slave.try_clone()?, slave] }))
    }

    /// A process goes without one here.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, reason = "the same shape as where there is one")]
    fn terminal() -> io::Result<Option<Self>> {
        Ok(None)
    }

    /// Splits `channel` into the side of the caller and the side of the process.
    pub(crate) fn split(channel: Option<Self>) -> (Option<ChannelEnds>, Option<[OwnedFd; 2]>) {
        channel.map_or((None, None), |it| (Some(it.ours), Some(it.theirs)))
    }
}

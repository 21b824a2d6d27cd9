//! How the listening socket of a proxy comes out of the namespace in which it was made.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::PORT;

/// Listens on the loopback of this process' namespace and hands the socket over by `line`.
pub(crate) fn offer(line: RawFd) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    let handed = [listener.as_raw_fd()];
    let message = [IoSlice::new(b"L")];
    let control = [ControlMessage::ScmRights(&handed)];
    sendmsg::<()>(line, &message, &control, MsgFlags::empty(), None)?;
    Ok(())
}

/// Takes over what was offered at the other end of `line`.
pub(crate) fn receive(line: &UnixStream) -> io::Result<TcpListener> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut message = [IoSliceMut::new(&mut byte)];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(line, &mut message, &mut control, flags)?;
    let sockets = control.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    sockets.map(TcpListener::from).ok_or_else(|| io::Error::other("no way to the proxy came"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn passed_socket_accepts_connections() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert!(receive(&ours).is_err());
        offer(theirs.as_raw_fd()).unwrap();
        let listener = receive(&ours).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(b"x").unwrap();
        let mut byte = [0];
        server.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x");
    }
}

//! What a stage of the keeper is given on its standard input: a socket to the stage above, and through it the
//! descriptors that are not its own. No number of a descriptor is ever passed, so none can leak or be mistaken.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The most that is passed: the worker's standard input and its place.
const MOST: usize = 2;

#[cfg(target_os = "linux")]
const PRIVATE: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const PRIVATE: RecvFlags = RecvFlags::empty();

/// Hands descriptors to the stage below.
pub fn send(socket: &UnixStream, descriptors: &[BorrowedFd]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // They travel with at least one byte.
    sendmsg(socket, &[IoSlice::new(b"\n")], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

/// The socket that is our standard input, and what came through it; none of it reaches a program that we start.
pub fn receive() -> io::Result<(UnixStream, Vec<OwnedFd>)> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let got = recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, PRIVATE)?;
    if got.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut descriptors = Vec::with_capacity(MOST);
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    for descriptor in &descriptors {
        fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
    }
    Ok((socket, descriptors))
}

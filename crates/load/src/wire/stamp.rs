//! Receiving bytes together with the time at which the kernel got them.
//!
//! `SO_TIMESTAMPING` with `RX_SOFTWARE` makes `recvmsg` hand out the time at which the network stack took in the last
//! segment that the read touches. Neither the standard library nor rustix can ask for it, hence the one unsafe module
//! of this crate. Elsewhere than on 64-bit Linux there is no stamp.

use std::{io, os::fd::BorrowedFd};

/// What one read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// How many bytes; 0 means that the peer closed.
    pub length: usize,
    /// When the kernel received the last of them: nanoseconds since 1970 on the system's wall clock.
    pub kernel_ns: Option<i64>,
}

/// Asks the kernel to stamp what this socket receives; false where it cannot.
pub fn enable(socket: BorrowedFd<'_>) -> bool {
    linux::enable(socket)
}

/// Reads what is there without waiting, with the kernel's stamp if the socket has one.
///
/// # Errors
/// Those of `recvmsg`; [`io::ErrorKind::WouldBlock`] when nothing is there.
#[inline]
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
    linux::receive(socket, buffer)
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[expect(unsafe_code, reason = "setsockopt and recvmsg with SO_TIMESTAMPING have no safe wrapper")]
mod linux {
    use super::{BorrowedFd, Received, io};
    use std::{mem, os::fd::AsRawFd, ptr};

    /// Room for one `scm_timestamping` (three timespecs) with its header, aligned as `cmsghdr` wants it.
    const CONTROL_WORDS: usize = 8;

    pub(super) fn enable(socket: BorrowedFd<'_>) -> bool {
        let flags: libc::c_uint = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
        let length = mem::size_of_val(&flags) as libc::socklen_t;
        // SAFETY: the descriptor is open as long as it is borrowed; the option's value is a c_uint of the length given.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_TIMESTAMPING,
                ptr::from_ref(&flags).cast(),
                length,
            )
        };
        result == 0
    }

    #[inline]
    pub(super) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
        let mut control = [0_u64; CONTROL_WORDS];
        let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: all-zero bytes are a valid msghdr: null pointers with zero lengths.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = mem::size_of_val(&control);
        // The bare system call: libc's function is a point of cancellation, which costs two atomic operations a call.
        // SAFETY: `message` points to a buffer and a control area that outlive the call, with their true lengths.
        let length =
            unsafe { libc::syscall(libc::SYS_recvmsg, socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
        let Ok(length) = usize::try_from(length) else { return Err(io::Error::last_os_error()) };
        Ok(Received { length, kernel_ns: stamp(&message) })
    }

    #[inline]
    fn stamp(message: &libc::msghdr) -> Option<i64> {
        // SAFETY: the kernel filled the control area and its length; the CMSG macros walk inside that length.
        let mut header = unsafe { libc::CMSG_FIRSTHDR(message) };
        while !header.is_null() {
            // SAFETY: not null, so it points to a header inside the control area, which is aligned for it.
            let (level, kind, length) = unsafe { ((*header).cmsg_level, (*header).cmsg_type, (*header).cmsg_len) };
            // SAFETY: CMSG_LEN only computes.
            let wanted = unsafe { libc::CMSG_LEN(mem::size_of::<libc::timespec>() as libc::c_uint) } as usize;
            if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPING && length >= wanted {
                // SAFETY: the record holds at least one timespec; its alignment is not relied upon.
                let time = unsafe { libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned() };
                // The first of the three is the software stamp; zero says that there is none.
                return (time.tv_sec != 0).then(|| time.tv_sec * 1_000_000_000 + time.tv_nsec);
            }
            // SAFETY: as above.
            header = unsafe { libc::CMSG_NXTHDR(message, header) };
        }
        None
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod linux {
    use super::{BorrowedFd, Received, io};

    pub(super) fn enable(_: BorrowedFd<'_>) -> bool {
        false
    }

    pub(super) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
        let (length, _) = rustix::net::recv(socket, buffer, rustix::net::RecvFlags::DONTWAIT)?;
        Ok(Received { length, kernel_ns: None })
    }
}

//! Asking for memory ahead of its use.

/// Length of a cache line on the processors that are asked, in bytes.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Has the first `length` bytes of `place` fetched into the cache, while the program goes on with something else.
///
/// A hint: elsewhere than on x86-64 it does nothing.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "the instruction has no safe wrapper")]
pub(crate) fn prefetch<T: ?Sized>(place: &T, length: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let start = std::ptr::from_ref(place).cast::<i8>();
    for offset in (0..length.min(size_of_val(place))).step_by(LINE) {
        // SAFETY: a prefetch reads nothing and cannot fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
    }
}

/// Does nothing.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn prefetch<T: ?Sized>(_: &T, _: usize) {}

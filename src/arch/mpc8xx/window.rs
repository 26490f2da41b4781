//! The user-access window by access protection groups (KUAP): one write of MD_AP opens it, one closes it, over all of user
//! space. The register is the state.
//!
//! The groups cannot tell directions apart: an open window admits loads and stores.

use super::super::ppc::spr;

/// MD_AP.
pub(super) const MD_AP: u32 = 794;

/// Group 0 (kernel) as the page says; group 1 (user) swapped: user code by the supervisor column, the kernel by the user
/// column, which gives nothing (reference document 2.5).
pub const CLOSED: u32 = 0x6000_0000;
/// Group 1 by the supervisor column in both states.
pub const OPEN: u32 = 0x4000_0000;

/// Whether windows for loads and for stores differ.
pub const TELLS_DIRECTIONS: bool = false;

/// Opens the window for a non-empty range of user addresses.
#[inline(always)]
pub fn open(_start: u32, _length: u32, _write: bool) {
    // SAFETY: only the kernel's rights on user pages change, where no Rust object lives. The write serializes.
    unsafe { spr::mtspr::<MD_AP>(OPEN) };
}

/// Closes it.
#[inline(always)]
pub fn close() {
    // SAFETY: as in `open`.
    unsafe { spr::mtspr::<MD_AP>(CLOSED) };
}

/// Closes it whatever is known of it; the register is all there is.
pub fn reset() {
    close();
}

/// Makes user memory unreachable outside a window (the rule), or reachable always, for kernels without KUAP.
pub fn set_kuap(enabled: bool) {
    if enabled {
        close();
    } else {
        open(0, 1, true);
    }
}

/// Whether it is open.
pub fn is_open() -> bool {
    spr::mfspr::<MD_AP>() != CLOSED
}

/// Whether the window word that a trap frame holds (0, or MD_AP as it was) covers an address.
pub fn covers(word: u32, _address: u32, _store: bool) -> bool {
    word == OPEN
}

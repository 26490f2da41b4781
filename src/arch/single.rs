//! Statics on a machine with one core.

/// A static that thread context alone uses: system calls and the shell, never a trap or interrupt handler.
///
/// There is one core and no preemption of kernel threads, so thread context cannot overlap with itself. What handlers
/// share with thread context must not be wrapped in this type.
pub struct Single<T>(T);

// SAFETY: see the type: all uses are in thread context of one core.
unsafe impl<T> Sync for Single<T> {}

impl<T> Single<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value. Thread context only.
    #[inline(always)]
    pub fn get(&'static self) -> &'static T {
        &self.0
    }
}

//! zeronull: the user-access core of a kernel, on bare metal.
#![no_std]

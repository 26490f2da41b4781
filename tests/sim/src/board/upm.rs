//! What the boards' boot loaders program into the UPM, word by word: facts of the boards, taken from U-Boot's board
//! files (named at each table). \[V\]

/// A complete array.
pub type Array = [u32; 64];

/// Words that fill the gaps of an array.
const fn filled(filler: u32, parts: &[(usize, &[u32])]) -> Array {
    let mut array = [filler; 64];
    let mut part = 0;
    while part < parts.len() {
        let (start, words) = parts[part];
        let mut index = 0;
        while index < words.len() {
            array[start + index] = words[index];
            index += 1;
        }
        part += 1;
    }
    array
}

/// `board/cssi/MCR3000/MCR3000.c`: SDRAM at 66 MHz, CAS latency 2.
pub const MCR3000: Array = filled(
    0xFFFF_FFFF,
    &[
        (0x00, &[0x0F3D_FC04, 0x0FEF_BC04, 0x00BE_7804, 0x0FFD_F400, 0x1FFF_FC05]),
        (
            0x08,
            &[
                0x0F3D_FC04,
                0x0FEF_BC04,
                0x00BF_7C04,
                0x00FF_FC00,
                0x00FF_FC00,
                0x00FE_F800,
                0x0FFD_F400,
                0x1FFF_FC05,
            ],
        ),
        (
            0x18,
            &[
                0x0F3D_FC04,
                0x0FEF_B800,
                0x00BF_7404,
                0x0FFE_F804,
                0x0FFD_F404,
                0x1FFF_FC05,
            ],
        ),
        (
            0x20,
            &[
                0x0F3D_FC04,
                0x0FEF_B800,
                0x00BF_7400,
                0x00FF_FC00,
                0x00FF_FC00,
                0x00FF_FC04,
                0x0FFE_F804,
                0x0FFD_F404,
                0x1FFF_FC05,
            ],
        ),
        (
            0x30,
            &[
                0x0FFD_F404,
                0x0FFE_BC04,
                0x0FFD_7C84,
                0x0FFF_FC04,
                0x0FFF_FC04,
                0x0FFF_FC04,
                0x1FFF_FC85,
            ],
        ),
        (0x38, &[0x0FEE_B874, 0x0FBD_7474, 0x1FFF_FC45]),
        (0x3C, &[0xFFFF_FC05]),
    ],
);

/// `board/cssi/cmpc885/sdram.c`: SDRAM at 66 MHz, CAS latency 2.
pub const CMPC885: Array = filled(
    0xFFFF_EC04,
    &[
        (
            0x00,
            &[
                0x0F0C_EC04,
                0x0FFF_EC04,
                0x00AF_2C04,
                0x0FFF_EC00,
                0x0FFC_E004,
                0xFFFF_EC05,
            ],
        ),
        (
            0x08,
            &[
                0x0F0C_EC04,
                0x0FFF_EC04,
                0x00AF_2C04,
                0x00FF_EC00,
                0x00FF_EC00,
                0x00FF_EC00,
                0x0FFC_E000,
                0x1FFF_EC05,
            ],
        ),
        (0x11, &[0x0FFC_E004, 0x1FFF_EC05]),
        (0x14, &[0x1FFF_EC05]),
        (
            0x18,
            &[
                0x0F0C_EC04,
                0x0FFF_EC00,
                0x00AF_2004,
                0x0FFF_EC04,
                0x0FFC_E004,
                0x0FFF_EC04,
                0xFFFF_EC05,
            ],
        ),
        (
            0x20,
            &[
                0x0F0C_EC04,
                0x0FFF_EC00,
                0x00AF_2000,
                0x00FF_EC00,
                0x00FF_EC00,
                0x00FF_EC04,
                0x0FFF_EC04,
                0x0FFC_E004,
                0x1FFF_EC05,
            ],
        ),
        (
            0x30,
            &[
                0x0FFD_E404,
                0x0FFE_AC04,
                0x0FFD_6C84,
                0x0FFF_EC04,
                0x0FFF_EC04,
                0x0FFF_EC04,
                0x0FFF_EC04,
                0x1FFF_EC85,
            ],
        ),
        (0x38, &[0x0FEE_A874, 0x0FBD_6474, 0x1FFF_EC45]),
        (0x3C, &[0x0FFC_E004, 0xFFFF_EC05]),
    ],
);

/// `board/fads/fads.c`: the SDRAM of the ADS family, table for 32 to 50 MHz (the only one the board file has for this
/// memory chip). On UPMB.
pub const MPC885ADS: Array = filled(
    0xFFFF_FFFF,
    &[
        (0x00, &[0x1F07_FC04, 0xEEAE_FC04, 0x11AD_FC04, 0xEFBB_BC00, 0x1FF7_7C47]),
        (0x05, &[0x1FF7_7C34, 0xEFEA_BC34, 0x1FB5_7C35]),
        (
            0x08,
            &[
                0x1F07_FC04,
                0xEEAE_FC04,
                0x10AD_FC04,
                0xF0AF_FC00,
                0xF0AF_FC00,
                0xF1AF_FC00,
                0xEFBB_BC00,
                0x1FF7_7C47,
            ],
        ),
        (0x18, &[0x1F27_FC04, 0xEEAE_BC00, 0x01B9_3C04, 0x1FF7_7C47]),
        (
            0x20,
            &[
                0x1F07_FC04,
                0xEEAE_BC00,
                0x10AD_7C00,
                0xF0AF_FC00,
                0xF0AF_FC00,
                0xE1BB_BC04,
                0x1FF7_7C47,
            ],
        ),
        (
            0x30,
            &[
                0x1FF5_FC84,
                0xFFFF_FC04,
                0xFFFF_FC04,
                0xFFFF_FC04,
                0xFFFF_FC84,
                0xFFFF_FC07,
            ],
        ),
        (0x3C, &[0x7FFF_FC07]),
    ],
);

/// `board/adder/adder.c`: K4S643232F SDRAM.
pub const ADDER875: Array = filled(
    0xFFFF_FC04,
    &[
        (
            0x00,
            &[
                0x1F07_FC24,
                0xE0AE_FC04,
                0x10AD_FC04,
                0xE0BB_BC00,
                0x10F7_7C44,
                0xF3FF_FC07,
            ],
        ),
        (
            0x08,
            &[
                0x1F07_FC24,
                0xE0AE_FC04,
                0x10AD_FC04,
                0xF0AF_FC00,
                0xF0AF_FC00,
                0xF0AF_FC00,
                0xF0AF_FC00,
                0x10A7_7C44,
                0xF7BF_FC47,
                0xFFFF_FC35,
                0xFFFF_FC34,
                0xFFFF_FC35,
                0xFFFF_FC35,
                0x1FF7_7C35,
                0xFFFF_FC34,
                0x1FB5_7C35,
            ],
        ),
        (0x18, &[0x1F27_FC24, 0xE0AE_BC04, 0x00B9_3C00, 0x13F7_7C47, 0xFFFD_FC04]),
        (
            0x20,
            &[
                0x1F07_FC24,
                0xEEAE_BC00,
                0x10AD_7C00,
                0xF0AF_FC00,
                0xF0AF_FC00,
                0xE0AB_BC00,
                0x1FB7_7C47,
            ],
        ),
        (
            0x30,
            &[
                0x1FF5_FCA4,
                0xFFFF_FC04,
                0xFFFF_FC04,
                0xFFFF_FC04,
                0xFFFF_FC84,
                0xFFFF_FC07,
            ],
        ),
        (0x3C, &[0xFFFF_FC27]),
    ],
);

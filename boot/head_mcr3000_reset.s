# From the reset vector in the flash of an MCR3000 to the image in RAM.
#
# In: the core as a hard reset leaves it, with vectors at 0 (HRCW[IIP] = 1, [BPS] = 10: the word comes from the board, not
# from the flash), chip select 0 answering at every address, this section at 0x100 of the flash behind the header that
# boot/image/src/flash.rs describes. Nothing is taken for granted of registers and caches.
# Out: the firmware's first byte, in real mode, instruction cache on, clocks, memory controller and SDRAM set up;
# r3 = address of the header's copy in RAM, r4 = sum of the words of firmware and archive as they were read,
# r5 = core clock in Hz.
#
# Values: U-Boot board/cssi/MCR3000/MCR3000.c (UPM, SDRAM) and configs/MCR3000_defconfig (registers); order: U-Boot
# arch/powerpc/cpu/mpc8xx/start.S and cpu_init.c; reference document 5.2, 5.7, 5.8, 7.2 and 8. Not run on hardware.

# Not part of the image in RAM: the packer takes the section out of the ELF file. Position-independent.
.section .reset, "", @progbits

.set RESET_IMMR, 0xff000000
.set RESET_FLASH, 0x04000000
.set RESET_VECTOR, 0x100
# Debug mode, if a debugger is there: entered by checkstops and breakpoints.
.set RESET_DER, 0x2002000f
.set RESET_SIUMCR, 0x00600400
.set RESET_CORE_HZ, 132000000
# Offsets in the header: the pieces, each of offset in flash, address in RAM, bytes.
.set RESET_PIECES, 8

# An entry of the table of stores: offset from IMMR, value.
.macro RESET_WORD offset, value
	.long	\offset, \value
.endm
.macro RESET_HALF offset, value
	.long	\offset | 0x10000, \value
.endm
# An entry that waits for so many ticks of the time base, 66 MHz / 16.
.macro RESET_WAIT ticks
	.long	0x20000, \ticks
.endm

FUNC reset_entry
	lis	%r31, RESET_IMMR@h
	mtspr	{SPR_IMMR}, %r31
	li	%r3, {MSR_ME} | {MSR_RI}
	mtmsr	%r3
	mtsrr1	%r3
	# Development support off, serialization off.
	mfspr	%r3, {SPR_ICR}
	li	%r0, 0
	mtspr	{SPR_LCTRL1}, %r0
	mtspr	{SPR_LCTRL2}, %r0
	mtspr	{SPR_COUNTA}, %r0
	mtspr	{SPR_COUNTB}, %r0
	lis	%r3, RESET_DER@h
	ori	%r3, %r3, RESET_DER@l
	mtspr	{SPR_DER}, %r3
	li	%r3, 7
	mtspr	{SPR_ICTRL}, %r3
	# The instruction cache holds garbage after power-on; the data cache stays off, because nothing keeps it away from
	# devices without translation.
	lis	%r3, {CACHE_DISABLE_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	lis	%r3, {CACHE_UNLOCK_ALL_HIGH}
	mtspr	{SPR_IC_CST}, %r3
	lis	%r3, {CACHE_INVALIDATE_ALL_HIGH}
	mtspr	{SPR_IC_CST}, %r3
	lis	%r3, {CACHE_ENABLE_HIGH}
	mtspr	{SPR_IC_CST}, %r3
	isync

	# On to where the flash will be when chip select 0 answers there alone.
	lis	%r30, RESET_FLASH@h
	addi	%r3, %r30, 1f - reset_entry + RESET_VECTOR
	mtctr	%r3
	bctr

1:	lwz	%r3, 0(%r31)
	oris	%r3, %r3, RESET_SIUMCR@h
	ori	%r3, %r3, RESET_SIUMCR@l
	stw	%r3, 0(%r31)
	addi	%r29, %r30, reset_registers - reset_entry + RESET_VECTOR
	bl	reset_store
	# The UPM's array: MDR takes a word, MCR writes it (command 00, machine A) to the index in its low bits.
	addi	%r29, %r30, reset_upm - reset_entry + RESET_VECTOR - 4
	li	%r4, 64
	mtctr	%r4
	li	%r4, 0
2:	lwzu	%r3, 4(%r29)
	stw	%r3, 0x17c(%r31)
	stw	%r4, 0x168(%r31)
	addi	%r4, %r4, 1
	bdnz	2b
	addi	%r29, %r30, reset_sdram - reset_entry + RESET_VECTOR
	bl	reset_store

	addi	%r29, %r30, RESET_PIECES
	li	%r28, 0
	bl	reset_copy
	bl	reset_copy
	mr	%r27, %r28
	bl	reset_copy
	# The address of the header's copy stands in the piece that reset_copy does next.
	lwz	%r26, 4(%r29)
	bl	reset_copy
	sync
	isync
	lwz	%r6, RESET_PIECES + 4(%r30)
	mtctr	%r6
	mr	%r3, %r26
	mr	%r4, %r27
	lis	%r5, RESET_CORE_HZ@h
	ori	%r5, %r5, RESET_CORE_HZ@l
	bctr
END reset_entry

# Stores what the table at r29 says, up to an entry of two zeros. In: r31 = IMMR. Clobbers r3–r6, r29, CR0. Each store has
# happened before the next instruction is fetched, which clocks and chip selects need (erratum SIU1).
reset_store:
	lwz	%r3, 0(%r29)
	lwz	%r4, 4(%r29)
	addi	%r29, %r29, 8
	or.	%r5, %r3, %r4
	beqlr
	clrlwi	%r5, %r3, 16
	andis.	%r6, %r3, 2
	bne	2f
	andis.	%r6, %r3, 1
	bne	1f
	stwx	%r4, %r31, %r5
	sync
	isync
	b	reset_store
1:	sthx	%r4, %r31, %r5
	sync
	isync
	b	reset_store
2:	mftb	%r5
3:	mftb	%r6
	subf	%r6, %r5, %r6
	cmplw	%r6, %r4
	blt	3b
	b	reset_store

# Copies the piece that r29 points at, whole words, and adds them up in r28; moves r29 to the next piece. In: r30 = flash.
# Clobbers r3–r6, CTR, CR0.
reset_copy:
	lwz	%r3, 0(%r29)
	lwz	%r4, 4(%r29)
	lwz	%r5, 8(%r29)
	addi	%r29, %r29, 12
	srwi.	%r5, %r5, 2
	beqlr
	mtctr	%r5
	add	%r3, %r3, %r30
	addi	%r3, %r3, -4
	addi	%r4, %r4, -4
1:	lwzu	%r6, 4(%r3)
	stwu	%r6, 4(%r4)
	add	%r28, %r28, %r6
	bdnz	1b
	blr

	.balign	4
reset_registers:
	# SYPCR can be written once: bus monitor on, watchdog off.
	RESET_WORD 0x004, 0xffffff88
	# Time base on. A key register opens its register until something else is written to it.
	RESET_WORD 0x300, 0xaa3355cc
	RESET_WORD 0x300, 0x55ccaa33
	RESET_HALF 0x200, 0x00c3
	RESET_WORD 0x340, 0xaa3355cc
	RESET_WORD 0x340, 0x55ccaa33
	RESET_HALF 0x240, 0x0082
	# Bus at half the core clock, EBDF in two steps and the PLL behind it: erratum GLL2. 66 MHz doubled.
	RESET_WORD 0x380, 0xaa3355cc
	RESET_WORD 0x380, 0x55ccaa33
	RESET_WORD 0x384, 0xaa3355cc
	RESET_WORD 0x384, 0x55ccaa33
	RESET_WORD 0x280, 0x00c00000
	RESET_WORD 0x280, 0x00c20000
	RESET_WORD 0x284, 0x00460004
	# SDMA at the bus arbitration level of the 866, then flash at its address alone: BR0 before OR0.
	RESET_WORD 0x030, 0x00000001
	RESET_WORD 0x100, 0x04000801
	RESET_WORD 0x104, 0xffc00926
	.long	0, 0

reset_sdram:
	RESET_WAIT 42
	# Refresh: MPTPR, MAMR; then the window of 32 MiB, OR1 before BR1.
	RESET_HALF 0x17a, 0x0200
	RESET_WORD 0x170, 0x14904000
	RESET_WAIT 42
	RESET_WORD 0x10c, 0xfe000e00
	RESET_WORD 0x108, 0x00000081
	RESET_WAIT 42
	# Eight refresh cycles, the mode word on the address lines, the pattern that loads it.
	RESET_WORD 0x168, 0x80002830
	RESET_WORD 0x164, 0x00000088
	RESET_WORD 0x168, 0x80002038
	RESET_WAIT 825
	.long	0, 0

# SDRAM at 66 MHz, CAS latency 2.
reset_upm:
	# 0x00: single read
	.long	0x0f3dfc04, 0x0fefbc04, 0x00be7804, 0x0ffdf400
	.long	0x1ffffc05, 0xffffffff, 0xffffffff, 0xffffffff
	# 0x08: burst read
	.long	0x0f3dfc04, 0x0fefbc04, 0x00bf7c04, 0x00fffc00
	.long	0x00fffc00, 0x00fef800, 0x0ffdf400, 0x1ffffc05
	.long	0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff
	.long	0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff
	# 0x18: single write
	.long	0x0f3dfc04, 0x0fefb800, 0x00bf7404, 0x0ffef804
	.long	0x0ffdf404, 0x1ffffc05, 0xffffffff, 0xffffffff
	# 0x20: burst write
	.long	0x0f3dfc04, 0x0fefb800, 0x00bf7400, 0x00fffc00
	.long	0x00fffc00, 0x00fffc04, 0x0ffef804, 0x0ffdf404
	.long	0x1ffffc05, 0xffffffff, 0xffffffff, 0xffffffff
	.long	0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff
	# 0x30: refresh
	.long	0x0ffdf404, 0x0ffebc04, 0x0ffd7c84, 0x0ffffc04
	.long	0x0ffffc04, 0x0ffffc04, 0x1ffffc85, 0xffffffff
	# 0x38: load the mode word
	.long	0x0feeb874, 0x0fbd7474, 0x1ffffc45, 0xffffffff
	# 0x3c: exception
	.long	0xfffffc05, 0xffffffff, 0xffffffff, 0xffffffff

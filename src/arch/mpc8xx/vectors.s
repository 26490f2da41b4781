# Exception vectors of the MPC8xx (reference document section 1; MPC885 reference manual, chapters 7 and 8). Entered with
# translation off, interrupts off.
#
# Nothing has to be switched between user and kernel mode: access protection groups tell them apart. The kernel's pages
# are group 0, judged as the page says. User pages are group 1, whose rights stand in the supervisor column and whose
# group setting swaps the two states: user code gets the column, the kernel gets nothing (KUAP, KUEP), until the window
# lets both have it.
#
# Special registers beyond those of the common entry: M_TW and SPRG3 are scratch of the TLB-miss handlers.

# In trap_save, DAR saved: leaves a tag in DAR that no data access can have, because cache-block instructions that fault do
# not load DAR (reference document 1.4). In: r0 = 0; clobbers r4.
.macro TRAP_FROM_USER_OR_KERNEL
	li	%r4, {DAR_TAG}
	mtdar	%r4
.endm

.macro TRAP_TO_USER_OR_KERNEL msr
.endm

.macro SYSCALL_TO_USER scratch
.endm

# NRI clears EE and RI whatever is written to it.
.macro SYSCALL_DISABLE_INTERRUPTS scratch
	mtspr	{SPR_NRI}, \scratch
.endm

# MD_AP is the state of the window. Clobbers r4, r5.
.macro WINDOW_SAVE frame
	mfspr	%r5, {SPR_MD_AP}
	lis	%r4, {WINDOW_CLOSED_HIGH}
	cmpw	%r5, %r4
	beq	2f
	stw	%r5, {FRAME_WINDOW}(\frame)
	mtspr	{SPR_MD_AP}, %r4
2:
.endm

.macro WINDOW_RESTORE frame
	lwz	%r5, {FRAME_WINDOW}(\frame)
	cmpwi	%r5, 0
	beq	2f
	mtspr	{SPR_MD_AP}, %r5
2:
.endm

# A load that has happened, with its machine check if it raises one, before anything behind it begins: the machine check
# of a load is reported at the load (reference document 1.1).
.macro EX_MC_LOAD fixup, register, source
	EX_MC \fixup, lwz \register, \source
.endm

.section .vectors, "ax"
	.org 0
	b	head_entry

	TRAP 0x100
	TRAP 0x200
	TRAP 0x300
	TRAP 0x400
	TRAP 0x500
	TRAP 0x600
	TRAP 0x700
	TRAP 0x800
	TRAP 0x900

# System call: straight to transfer_to_syscall with interrupts enabled; everything that an interrupt may clobber is in
# registers by then.
	.org 0xc00
FUNC SystemCall
	mfsrr0	%r11
	.global	syscall_entry_site
syscall_entry_site:
	lis	%r9, transfer_to_syscall@ha
	addi	%r9, %r9, transfer_to_syscall@l
	lis	%r12, {MSR_KERNEL_HIGH_ADJUSTED}
	mr	%r10, %r1
	addi	%r12, %r12, {MSR_KERNEL_INTERRUPTIBLE} - 0x10000
	mfsprg	%r1, 2
	mtsrr0	%r9
	mtsrr1	%r12
	rfi
END SystemCall

	TRAP 0xd00
	TRAP 0x1000

# TLB misses: the hardware does the address arithmetic. One table serves user and kernel addresses. No branch: an absent
# first-level entry loads V = 0 with it, an absent page V = 0 of its own, and the retry takes the error vector. Bits
# 24–27 of RPN must be set for the entry to match at all; in our tables they hold software bits.

# Fetches get their rights from the software execute bit alone: E = 1 with PP = 01 (execute) or 00 (nothing). The pages on
# either side are thrown out of the TLB, so that a branch in the last word of a page can never meet a translation of the
# next page (erratum CPU15). Only user pages are: bit 0 is taken off, because tlbie takes pinned entries as well, and the
# neighbour of a wild jump may be the kernel.
	.org 0x1100
	.global	instruction_miss
instruction_miss:
	mtspr	{SPR_M_TW}, %r10
	mtsprg	3, %r11
instruction_miss_counted:
	mfsrr0	%r10
	mtspr	{SPR_MD_EPN}, %r10
	rlwinm	%r11, %r10, 0, 1, 31
	addi	%r11, %r11, 4096
	tlbie	%r11
	addi	%r11, %r11, -8192
	tlbie	%r11
	mfspr	%r10, {SPR_M_TWB}
	lwz	%r11, 0(%r10)
	mtspr	{SPR_MI_TWC}, %r11
	mtspr	{SPR_MD_TWC}, %r11
	mfspr	%r10, {SPR_MD_TWC}
	lwz	%r10, 0(%r10)
	li	%r11, {RPN_EXTENDED} | {RPN_SUBPAGES}
	rlwimi	%r11, %r10, 4, 21, 21
	rlwimi	%r10, %r11, 0, 20, 27
	mtspr	{SPR_MI_RPN}, %r10
	mfspr	%r10, {SPR_M_TW}
	mfsprg	%r11, 3
	rfi

	.org 0x1200
	.global	data_miss
data_miss:
	mtspr	{SPR_M_TW}, %r10
data_miss_counted:
	mfspr	%r10, {SPR_M_TWB}
	lwz	%r10, 0(%r10)
	mtspr	{SPR_MD_TWC}, %r10
	mfspr	%r10, {SPR_MD_TWC}
	lwz	%r10, 0(%r10)
	ori	%r10, %r10, {RPN_SUBPAGES}
	mtspr	{SPR_MD_RPN}, %r10
	mfspr	%r10, {SPR_M_TW}
	rfi

	TRAP 0x1300
	TRAP 0x1400
	TRAP 0x1c00
	TRAP 0x1d00
	TRAP 0x1e00
	TRAP 0x1f00
	.org 0x2000

# Detours of the TLB-miss handlers while misses are counted (tlb_misses.rs). Each does what it replaces, with r10 and r11
# free in between; M_TW and SPRG3 as in the handlers. Translation is off: the counters' physical addresses.
.macro COUNT_MISS offset
	lis	%r10, (tlb_miss_state + \offset - {KERNEL_BASE})@ha
	lwz	%r11, (tlb_miss_state + \offset - {KERNEL_BASE})@l(%r10)
	addi	%r11, %r11, 1
	stw	%r11, (tlb_miss_state + \offset - {KERNEL_BASE})@l(%r10)
.endm

.section .text.entry, "ax"
FUNC count_instruction_miss
	mtspr	{SPR_M_TW}, %r10
	mtsprg	3, %r11
	COUNT_MISS 0
	b	instruction_miss_counted
END count_instruction_miss

FUNC count_data_miss
	mtspr	{SPR_M_TW}, %r10
	mtsprg	3, %r11
	COUNT_MISS 4
	mfsprg	%r11, 3
	b	data_miss_counted
END count_data_miss

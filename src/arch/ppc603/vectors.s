# Exception vectors of the 603 family (603e user's manual, chapter 4). Entered with translation off, interrupts off.
#
# Segment registers: user segments 0–7 are closed to the kernel (Ks = 1) and not executable (N = 1) while it runs;
# segment 1, where programs live, becomes executable on the way to user mode only (KUEP). The low halves of all
# segment register values are zero, so that one `lis` makes one.

.macro SEGMENT_CLOSE
	lis	%r9, {SEGMENT1_KERNEL_HIGH}
	mtsr	1, %r9
.endm

# In trap_save: from user mode, take away execution; from kernel mode nothing is to be done.
.macro TRAP_FROM_USER_OR_KERNEL
	andi.	%r4, %r4, {MSR_PR}
	beq	1f
	SEGMENT_CLOSE
1:
.endm

# On the way out: give execution back to user code. In: MSR of the interrupted code.
.macro TRAP_TO_USER_OR_KERNEL msr
	andi.	\msr, \msr, {MSR_PR}
	beq	1f
	lis	\msr, {SEGMENT1_USER_HIGH}
	mtsr	1, \msr
1:
.endm

.macro SYSCALL_TO_USER scratch
	lis	\scratch, {SEGMENT1_USER_HIGH}
	mtsr	1, \scratch
.endm

.macro SYSCALL_DISABLE_INTERRUPTS scratch
	li	\scratch, {MSR_KERNEL_UNRECOVERABLE}
	mtmsr	\scratch
.endm

# An open window is a range of segments with Ks = 0, described by one word (0: closed); see window.rs. Taken over into
# the frame and closed on entry, opened again on the way back. Clobbers r4–r7.
.macro WINDOW_SAVE frame
	lis	%r4, user_access_window@ha
	lwz	%r5, user_access_window@l(%r4)
	cmpwi	%r5, 0
	beq	2f
	stw	%r5, {FRAME_WINDOW}(\frame)
	li	%r6, 0
	stw	%r6, user_access_window@l(%r4)
	lis	%r7, {SEGMENT_CLOSED_HIGH}
	WINDOW_SEGMENTS
2:
.endm

.macro WINDOW_RESTORE frame
	lwz	%r5, {FRAME_WINDOW}(\frame)
	cmpwi	%r5, 0
	beq	2f
	lis	%r4, user_access_window@ha
	stw	%r5, user_access_window@l(%r4)
	lis	%r7, {SEGMENT_OPEN_HIGH}
	WINDOW_SEGMENTS
2:
.endm

# Writes value r7 plus the segment's own identifier to each segment of window word r5 (first in bits 28–31, last in
# bits 24–27). Clobbers r4, r5, r6.
.macro WINDOW_SEGMENTS
	rlwinm	%r4, %r5, 0, 28, 31
	rlwinm	%r5, %r5, 28, 28, 31
3:	slwi	%r6, %r4, 28
	rlwimi	%r7, %r4, 16, 12, 15
	mtsrin	%r7, %r6
	addi	%r4, %r4, 1
	cmpw	%r4, %r5
	ble	3b
	isync
.endm

# A load that has happened, with its machine check if it raises one, before anything behind it begins. SRR0 of a machine
# check is only near the load (603e user's manual, 4.5.2), so the trap that never traps makes the load complete, and
# isync holds back the rest; each of the three may be what is reported (as in arch/powerpc/include/asm/io.h).
.macro EX_MC_LOAD fixup, register, source
	EX_MC \fixup, lwz \register, \source
	EX_MC \fixup, twi 0, \register, 0
	EX_MC \fixup, isync
.endm

.section .vectors, "ax"
	.org 0
	b	head_entry

	TRAP 0x100
	TRAP 0x200

# Only a hardware walk raises these two for want of a translation; then the hash table is filled first.
	.org 0x300
	mtsprg	0, %r10
	mtsprg	1, %r11
	mfcr	%r10
	mfdsisr	%r11
	andis.	%r11, %r11, {DSISR_NOT_FOUND}@h
	bne	hash_data_miss
	mtcr	%r10
	mfsprg	%r10, 0
	mfsprg	%r11, 1
data_storage:
	TRAP_BODY 0x300

	.org 0x400
	mtsprg	0, %r10
	mtsprg	1, %r11
	mfcr	%r10
	mfsrr1	%r11
	andis.	%r11, %r11, {SRR1_NOT_FOUND}@h
	bne	hash_instruction_miss
	mtcr	%r10
	mfsprg	%r10, 0
	mfsprg	%r11, 1
instruction_storage:
	TRAP_BODY 0x400

	TRAP 0x500
	TRAP 0x600
	TRAP 0x700
	TRAP 0x800
	TRAP 0x900
	TRAP 0xa00
	TRAP 0xb00

# System call: straight to transfer_to_syscall with interrupts enabled; everything that an interrupt may clobber is in
# registers by then.
	.org 0xc00
FUNC SystemCall
	.global	kuap_patch_site
kuap_patch_site:
	lis	%r10, {SEGMENT1_KERNEL_HIGH}
	mfsrr0	%r11
	mtsr	1, %r10
	mr	%r10, %r1
	mfsprg	%r1, 2
	.global	syscall_entry_site
syscall_entry_site:
	lis	%r9, transfer_to_syscall@ha
	addi	%r9, %r9, transfer_to_syscall@l
	lis	%r12, {MSR_KERNEL_HIGH_ADJUSTED}
	addi	%r12, %r12, {MSR_KERNEL_INTERRUPTIBLE} - 0x10000
	mtsrr0	%r9
	mtsrr1	%r12
	rfi
END SystemCall

	TRAP 0xd00

	TRAP 0xe00
	TRAP 0xf00

# Software table walk. r0–r3 are the shadow set (MSR[TGPR]); only CR0 must be kept, which SRR1 holds in its top bits.
# One table serves user and kernel addresses: SPRG3 is its physical address. A first-level entry is 0, the physical
# address of a second-level page, or a 4 MiB linear mapping (bit 31 set).
#
# SRR1 bits 0–15 are cleared before the return: QEMU copies bit 15, set after a store miss, into MSR[ILE].
.macro TABLE_WALK name, address_spr, wanted, fault, load
	.global	\name
\name:
	mfspr	%r3, \address_spr
	mfsprg	%r2, 3
	rlwinm	%r1, %r3, 12, 20, 29
	lwzx	%r2, %r2, %r1
	andi.	%r1, %r2, {L1_LINEAR}
	bne	2f
	rlwinm.	%r1, %r2, 0, 0, 19
	beq	\fault
	rlwimi	%r1, %r3, 22, 20, 29
	lwz	%r1, 0(%r1)
1:	andi.	%r2, %r1, \wanted
	cmplwi	%r2, \wanted
	bne	\fault
	mtspr	{SPR_RPA}, %r1
	\load	%r3
	mfsrr1	%r1
	mtcrf	0x80, %r1
	rlwinm	%r1, %r1, 0, 16, 31
	mtsrr1	%r1
	rfi
2:	rlwinm	%r1, %r2, 0, 0, 9
	rlwimi	%r1, %r3, 0, 10, 19
	ori	%r1, %r1, {PTE_LINEAR}
	b	1b
.endm

	.org 0x1000
	TABLE_WALK instruction_miss, {SPR_IMISS}, {PTE_PRESENT} | {PTE_EXECUTE}, instruction_fault, tlbli
	.org 0x1100
	TABLE_WALK load_miss, {SPR_DMISS}, {PTE_PRESENT}, data_fault, tlbld
	.org 0x1200
	TABLE_WALK store_miss, {SPR_DMISS}, {PTE_PRESENT}, data_fault, tlbld

	TRAP 0x1300
	TRAP 0x1400

# Restores CR0 and switches back to the ordinary r0–r3. In: r1 = SRR1, r3 = bits to set in SRR1.
.macro LEAVE_SHADOW_REGISTERS
	mtcrf	0x80, %r1
	rlwinm	%r1, %r1, 0, 16, 31
	or	%r1, %r1, %r3
	mtsrr1	%r1
	mfmsr	%r1
	rlwinm	%r1, %r1, 0, 15, 13
	mtmsr	%r1
	isync
.endm

# No translation: becomes the data storage exception that a hardware walk would raise.
data_fault:
	mfsrr1	%r1
	rlwinm	%r2, %r1, 9, 6, 6
	oris	%r2, %r2, {DSISR_NOT_FOUND}@h
	mtdsisr	%r2
	mfspr	%r3, {SPR_DMISS}
	mtdar	%r3
	li	%r3, 0
	LEAVE_SHADOW_REGISTERS
	b	data_storage

# The same for a fetch. An existing page without execute permission is told apart by SRR1 bit 3.
instruction_fault:
	cmplwi	%r1, 0
	mfsrr1	%r1
	lis	%r3, {SRR1_NOT_FOUND}@h
	beq	1f
	lis	%r3, {SRR1_NO_EXECUTE}@h
1:	LEAVE_SHADOW_REGISTERS
	b	instruction_storage

# On a CPU with a hardware walk (750, 7400) the hash table is a cache of our page tables, filled here. Its 64 KiB start
# at the physical address in hash_state; a miss of it raises a storage exception. In: r10 = CR; r10, r11 of the
# interrupted code in SPRG0, SPRG1. Falls back to the ordinary exception when the page tables have no such page.
hash_data_miss:
	lis	%r11, (hash_state - {KERNEL_BASE})@ha
	addi	%r11, %r11, (hash_state - {KERNEL_BASE})@l
	stw	%r3, {HASH_R3}(%r11)
	stw	%r6, {HASH_R6}(%r11)
	mfdar	%r3
	li	%r6, {PTE_PRESENT}
	b	hash_fill
hash_instruction_miss:
	lis	%r11, (hash_state - {KERNEL_BASE})@ha
	addi	%r11, %r11, (hash_state - {KERNEL_BASE})@l
	stw	%r3, {HASH_R3}(%r11)
	stw	%r6, {HASH_R6}(%r11)
	mfsrr0	%r3
	li	%r6, {PTE_PRESENT} | {PTE_EXECUTE}
hash_fill:
	stw	%r4, {HASH_R4}(%r11)
	stw	%r5, {HASH_R5}(%r11)
	stw	%r7, {HASH_R7}(%r11)
	stw	%r10, {HASH_CR}(%r11)
	mfsprg	%r4, 3
	rlwinm	%r5, %r3, 12, 20, 29
	lwzx	%r4, %r4, %r5
	andi.	%r5, %r4, {L1_LINEAR}
	bne	3f
	rlwinm.	%r5, %r4, 0, 0, 19
	beq	4f
	rlwimi	%r5, %r3, 22, 20, 29
	lwz	%r5, 0(%r5)
1:	and	%r4, %r5, %r6
	cmpw	%r4, %r6
	bne	4f
	# Group by (VSID ^ page index) modulo 1024, slots of the group in turn.
	mfsrin	%r4, %r3
	rlwinm	%r4, %r4, 0, 8, 31
	rlwinm	%r10, %r3, 20, 16, 31
	xor	%r10, %r10, %r4
	rlwinm	%r10, %r10, 6, 16, 25
	lwz	%r7, {HASH_TABLE}(%r11)
	add	%r10, %r10, %r7
	lwz	%r7, {HASH_SLOT}(%r11)
	addi	%r7, %r7, 8
	rlwinm	%r7, %r7, 0, 26, 28
	stw	%r7, {HASH_SLOT}(%r11)
	add	%r10, %r10, %r7
	li	%r7, 0
	stw	%r7, 0(%r10)
	sync
	rlwinm	%r5, %r5, 0, 23, 19
	stw	%r5, 4(%r10)
	eieio
	slwi	%r4, %r4, 7
	rlwimi	%r4, %r3, 10, 26, 31
	oris	%r4, %r4, 0x8000
	stw	%r4, 0(%r10)
	sync
	lwz	%r3, {HASH_R3}(%r11)
	lwz	%r4, {HASH_R4}(%r11)
	lwz	%r5, {HASH_R5}(%r11)
	lwz	%r6, {HASH_R6}(%r11)
	lwz	%r7, {HASH_R7}(%r11)
	lwz	%r10, {HASH_CR}(%r11)
	mtcr	%r10
	mfsprg	%r10, 0
	mfsprg	%r11, 1
	rfi
3:	rlwinm	%r5, %r4, 0, 0, 9
	rlwimi	%r5, %r3, 0, 10, 19
	ori	%r5, %r5, {PTE_LINEAR}
	b	1b
4:	cmpwi	%r6, {PTE_PRESENT}
	lwz	%r3, {HASH_R3}(%r11)
	lwz	%r4, {HASH_R4}(%r11)
	lwz	%r5, {HASH_R5}(%r11)
	lwz	%r6, {HASH_R6}(%r11)
	lwz	%r7, {HASH_R7}(%r11)
	lwz	%r10, {HASH_CR}(%r11)
	mfsprg	%r11, 1
	bne	5f
	mtcr	%r10
	mfsprg	%r10, 0
	b	data_storage
5:	mtcr	%r10
	mfsprg	%r10, 0
	b	instruction_storage

	.org 0x2000

# Detours of the TLB-miss handlers while misses are counted (tlb_misses.rs): each counts and does the instruction that it
# replaces. Shadow registers as in the handlers; translation is off: the counters' physical addresses.
.macro COUNT_MISS name, offset, address_spr
FUNC count_\name
	lis	%r3, (tlb_miss_state + \offset - {KERNEL_BASE})@ha
	lwz	%r2, (tlb_miss_state + \offset - {KERNEL_BASE})@l(%r3)
	addi	%r2, %r2, 1
	stw	%r2, (tlb_miss_state + \offset - {KERNEL_BASE})@l(%r3)
	mfspr	%r3, \address_spr
	b	\name + 4
END count_\name
.endm

.section .text.entry, "ax"
	COUNT_MISS instruction_miss, 0, {SPR_IMISS}
	COUNT_MISS load_miss, 4, {SPR_DMISS}
	COUNT_MISS store_miss, 4, {SPR_DMISS}

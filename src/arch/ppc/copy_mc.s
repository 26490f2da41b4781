# Copies from kernel memory that may hold an uncorrectable error: a load that meets one raises a machine check and goes
# on at its fixup (entries of the machine-check kind); the target may be user memory, whose faults have ordinary entries.
#
# Both engines end the copy at the first byte that cannot be read, and read nothing again that lies in the step which
# failed: one machine check per call, never a retry into the error. The handler of the machine check leaves in r12 the
# address of the first byte that is lost, where it knows it, or 0; the bytes before it in the same word are copied one by
# one. Where the hardware only names the access, r12 is its address, and up to 3 good bytes of that word count as not
# copied.
#
# Cursors are as in uaccess.s: r3 and r4 on the first byte that is not done whenever an instruction may fault, r6 the end
# of the target. State required: translation on, the user-access window open for a target in user memory. No stack.

.section .text.uaccess, "ax"

# fn copy_mc_fragile(to: r3, from: r4, length: r5) -> (residue: r3, lost: r4): the first lost source byte, or 0.
# One aligned word of the source at a time; each load has happened, error and all, before anything behind it begins.
# Nothing beyond the word in hand is touched. Clobbers r5–r8, r12, CTR, CR0, CR1.
FUNC copy_mc_fragile
	neg	%r7, %r4
	add	%r6, %r3, %r5
	andi.	%r7, %r7, 3
	li	%r12, 0
	cmplw	%cr1, %r7, %r5
	beq	2f
	bge	%cr1, .Lmc_bytes
	mtctr	%r7
1:	EX_MC .Lmc_stop, lbz %r8, 0(%r4)
	EX .Lmc_done, stb %r8, 0(%r3)
	addi	%r4, %r4, 1
	addi	%r3, %r3, 1
	bdnz	1b
	subf	%r5, %r3, %r6
2:	srwi.	%r7, %r5, 2
	beq	.Lmc_bytes
	mtctr	%r7
3:	EX_MC_LOAD .Lmc_stop, %r8, 0(%r4)
	EX .Lmc_bytes, stw %r8, 0(%r3)
	addi	%r4, %r4, 4
	addi	%r3, %r3, 4
	bdnz	3b
	b	.Lmc_bytes
END copy_mc_fragile

# fn copy_mc_generic(to: r3, from: r4, length: r5) -> (residue: r3, lost: r4)
# Four words a step, all loaded before the first is stored. Clobbers r5–r12, CTR, CR0, CR1.
FUNC copy_mc_generic
	add	%r6, %r3, %r5
	cmplwi	%cr1, %r5, 16
	andi.	%r7, %r3, 3
	li	%r12, 0
	blt	%cr1, .Lmc_bytes
	beq	2f
	subfic	%r7, %r7, 4
	mtctr	%r7
1:	EX_MC .Lmc_stop, lbz %r8, 0(%r4)
	EX .Lmc_done, stb %r8, 0(%r3)
	addi	%r4, %r4, 1
	addi	%r3, %r3, 1
	bdnz	1b
	subf	%r5, %r3, %r6
2:	srwi.	%r7, %r5, 4
	beq	4f
	mtctr	%r7
3:	EX_MC .Lmc_stop, lwz %r8, 0(%r4)
	EX_MC .Lmc_stop_after_1, lwz %r9, 4(%r4)
	EX_MC .Lmc_stop_after_2, lwz %r10, 8(%r4)
	EX_MC .Lmc_stop_after_3, lwz %r11, 12(%r4)
	EX .Lmc_bytes, stw %r8, 0(%r3)
	EX .Lmc_bytes, stw %r9, 4(%r3)
	EX .Lmc_bytes, stw %r10, 8(%r3)
	EX .Lmc_bytes, stw %r11, 12(%r3)
	addi	%r4, %r4, 16
	addi	%r3, %r3, 16
	bdnz	3b
4:	rlwinm.	%r7, %r5, 30, 30, 31
	beq	.Lmc_bytes
	mtctr	%r7
5:	EX_MC .Lmc_stop, lwz %r8, 0(%r4)
	EX .Lmc_bytes, stw %r8, 0(%r3)
	addi	%r4, %r4, 4
	addi	%r3, %r3, 4
	bdnz	5b
.Lmc_bytes:
	subf.	%r5, %r3, %r6
	mtctr	%r5
	beq	.Lmc_done
6:	EX_MC .Lmc_stop, lbz %r8, 0(%r4)
	EX .Lmc_done, stb %r8, 0(%r3)
	addi	%r4, %r4, 1
	addi	%r3, %r3, 1
	bdnz	6b
.Lmc_done:
	subf	%r3, %r3, %r6
	mr	%r4, %r12
	blr

# A machine check behind 1 to 3 loaded words of a step: those are in registers and are not read again.
.Lmc_stop_after_3:
	li	%r7, 12
	b	7f
.Lmc_stop_after_2:
	li	%r7, 8
	b	7f
.Lmc_stop_after_1:
	li	%r7, 4
7:	cmplwi	%r7, 8
	EX .Lmc_stop, stw %r8, 0(%r3)
	blt	8f
	EX .Lmc_stop, stw %r9, 4(%r3)
	beq	8f
	EX .Lmc_stop, stw %r10, 8(%r3)
8:	add	%r4, %r4, %r7
	add	%r3, %r3, %r7
# The bytes up to the lost one at r12. After a fault of a store above, these are the ones up to the fault.
.Lmc_stop:
	cmplw	%r12, %r4
	bge	9f
	mr	%r12, %r4
9:	subf.	%r5, %r4, %r12
	mtctr	%r5
	beq	.Lmc_done
10:	EX_MC .Lmc_done, lbz %r8, 0(%r4)
	EX .Lmc_done, stb %r8, 0(%r3)
	addi	%r4, %r4, 1
	addi	%r3, %r3, 1
	bdnz	10b
	b	.Lmc_done
END copy_mc_generic

# fn copy_mc_load_physical(address: r3) -> r3: the byte at a physical address of RAM, or -1 if it is lost. For handlers:
# interrupts are off, and translation of data is off for the load. The trap that never traps and isync are on the 603
# what EX_MC_LOAD says. Clobbers r4–r6, r12.
FUNC copy_mc_load_physical
	mfmsr	%r5
	rlwinm	%r6, %r5, 0, 28, 26
	mtmsr	%r6
	isync
	EX_MC 1f, lbz %r4, 0(%r3)
	EX_MC 1f, twi 0, %r4, 0
	EX_MC 1f, isync
	mr	%r3, %r4
	b	2f
1:	li	%r3, -1
2:	mtmsr	%r5
	isync
	blr
END copy_mc_load_physical

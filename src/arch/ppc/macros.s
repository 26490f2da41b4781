# Macros shared by all assembly of the PowerPC families. Frame offsets and constants come from Rust as operands.

# One instruction that may fault on a user address, with the place where execution goes on if it does. The table is
# sorted because every entry is emitted in address order, by files that follow one another in one section.
.macro EX fixup, insn:vararg
9:	\insn
	.pushsection .ex_table, "a"
	.balign 4
	.long 9b, \fixup
	.popsection
.endm

# The same for an access to kernel memory that may not be there; a table of its own.
.macro EX_NOFAULT fixup, insn:vararg
9:	\insn
	.pushsection .ex_table_nofault, "a"
	.balign 4
	.long 9b, \fixup
	.popsection
.endm

# The same for a load of kernel memory that may hold an uncorrectable error: where execution goes on after a machine
# check.
.macro EX_MC fixup, insn:vararg
9:	\insn
	.pushsection .ex_table_mc, "a"
	.balign 4
	.long 9b, \fixup
	.popsection
.endm

.macro FUNC name
	.global \name
	.type \name, @function
\name:
.endm

.macro END name
	.size \name, . - \name
.endm

# Entry of one vector: saves CR, r1, r10, r11 and goes on in trap_save with r11 = physical address of the frame.
.macro TRAP_BODY vector
	mtsprg	0, %r10
	mtsprg	1, %r11
	mfcr	%r10
	mfsrr1	%r11
	andi.	%r11, %r11, {MSR_PR}
	mfsprg	%r11, 2
	bne	1f
	lis	%r11, __kernel_stack_reserve@ha
	addi	%r11, %r11, __kernel_stack_reserve@l
	cmplw	%r1, %r11
	mr	%r11, %r1
	bge	1f
	lis	%r11, __emergency_stack_top@ha
	addi	%r11, %r11, __emergency_stack_top@l
1:	addis	%r11, %r11, {TO_PHYSICAL}
	addi	%r11, %r11, -{FRAME_SIZE}
	stw	%r10, {FRAME_CR}(%r11)
	stw	%r1, {FRAME_GPR} + 4*1(%r11)
	mfsprg	%r10, 0
	stw	%r10, {FRAME_GPR} + 4*10(%r11)
	mfsprg	%r10, 1
	stw	%r10, {FRAME_GPR} + 4*11(%r11)
	li	%r10, \vector
	b	trap_save
.endm

.macro TRAP vector
	.org \vector
	TRAP_BODY \vector
.endm

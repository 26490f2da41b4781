# Copying and clearing across the user boundary, one implementation for all PowerPC families; the cache line size comes
# from the family. Entries of the exception table come from here and from copy_mc.s, which follows it.
#
# Every routine keeps its cursors on the first byte that is not done yet whenever an instruction may fault. A fault in a
# wide step goes on byte by byte from the cursors, so the residue is exact to the byte; doing bytes of the broken
# step again is harmless because source and destination never overlap. Residues come from registers alone: DAR is not
# valid after a fault of a cache-block instruction on an 8xx.
#
# State required: translation on, the user-access window open for the user side. No stack is used.

.section .text.uaccess, "ax"

# fn __copy_tofrom_user(to: r3, from: r4, length: r5) -> residue
# Clobbers r3–r12, CTR, CR0, CR1. Either side may fault.
# In the wide part both cursors stand a word before what is next, so that the last access of a step advances them; the
# source's may be a step ahead of the target's, and is made from it again after a fault.
FUNC __copy_tofrom_user
	add	%r6, %r3, %r5
	cmplwi	%cr1, %r5, 16
	andi.	%r7, %r3, 3
	subf	%r12, %r3, %r4
	blt	%cr1, .Lcopy_bytes
	bne	.Lcopy_head
# The target is on a word. A misaligned source is read in words all the same: both families do that in hardware.
.Lcopy_aligned:
	srwi.	%r7, %r5, 4
	addi	%r3, %r3, -4
	mtctr	%r7
	addi	%r4, %r4, -4
	beq	2f
	andi.	%r5, %r5, 15
1:	EX .Lcopy_resume, lwz %r8, 4(%r4)
	EX .Lcopy_resume, lwz %r9, 8(%r4)
	EX .Lcopy_resume, lwz %r10, 12(%r4)
	EX .Lcopy_resume, lwzu %r11, 16(%r4)
	EX .Lcopy_resume, stw %r8, 4(%r3)
	EX .Lcopy_resume, stw %r9, 8(%r3)
	EX .Lcopy_resume, stw %r10, 12(%r3)
	EX .Lcopy_resume, stwu %r11, 16(%r3)
	bdnz	1b
	bne	2f
	li	%r3, 0
	blr
2:	srwi.	%r7, %r5, 2
	beq	.Lcopy_resume
	mtctr	%r7
3:	EX .Lcopy_resume, lwzu %r8, 4(%r4)
	EX .Lcopy_resume, stwu %r8, 4(%r3)
	bdnz	3b
.Lcopy_resume:
	addi	%r3, %r3, 4
	add	%r4, %r3, %r12
.Lcopy_bytes:
	subf.	%r5, %r3, %r6
	mtctr	%r5
	beq	.Lcopy_done
4:	EX .Lcopy_done, lbz %r8, 0(%r4)
	EX .Lcopy_done, stb %r8, 0(%r3)
	addi	%r4, %r4, 1
	addi	%r3, %r3, 1
	bdnz	4b
.Lcopy_done:
	subf	%r3, %r3, %r6
	blr
.Lcopy_head:
	subfic	%r7, %r7, 4
	mtctr	%r7
5:	EX .Lcopy_done, lbz %r8, 0(%r4)
	EX .Lcopy_done, stb %r8, 0(%r3)
	addi	%r4, %r4, 1
	addi	%r3, %r3, 1
	bdnz	5b
	subf	%r5, %r3, %r6
	b	.Lcopy_aligned
END __copy_tofrom_user

# fn __arch_clear_user(to: r3, length: r4) -> residue
# Whole cache lines by dcbz. Clobbers r0, r3–r9, CTR, CR0, CR1.
FUNC __arch_clear_user
	neg	%r6, %r3
	add	%r5, %r3, %r4
	andi.	%r6, %r6, {LINE} - 1
	li	%r0, 0
	bne	.Lclear_head
.Lclear_lines:
	srwi.	%r6, %r4, {LINE_SHIFT} + 2
	li	%r7, {LINE}
	mtctr	%r6
	beq	2f
	li	%r8, 2*{LINE}
	li	%r9, 3*{LINE}
	andi.	%r4, %r4, 4*{LINE} - 1
1:	EX .Lclear_bytes, dcbz 0, %r3
	EX .Lclear_bytes, dcbz %r7, %r3
	EX .Lclear_bytes, dcbz %r8, %r3
	EX .Lclear_bytes, dcbz %r9, %r3
	addi	%r3, %r3, 4*{LINE}
	bdnz	1b
	bne	2f
	li	%r3, 0
	blr
2:	srwi.	%r6, %r4, {LINE_SHIFT}
	mtctr	%r6
	beq	.Lclear_words
	andi.	%r4, %r4, {LINE} - 1
3:	EX .Lclear_bytes, dcbz 0, %r3
	addi	%r3, %r3, {LINE}
	bdnz	3b
	bne	.Lclear_words
	li	%r3, 0
	blr
# r4 bytes are left. Misaligned words are done in hardware by both families.
.Lclear_words:
	srwi.	%r7, %r4, 2
	mtctr	%r7
	beq	.Lclear_bytes
4:	EX .Lclear_bytes, stw %r0, 0(%r3)
	addi	%r3, %r3, 4
	bdnz	4b
.Lclear_bytes:
	subf.	%r4, %r3, %r5
	mtctr	%r4
	beq	.Lclear_done
5:	EX .Lclear_done, stb %r0, 0(%r3)
	addi	%r3, %r3, 1
	bdnz	5b
.Lclear_done:
	subf	%r3, %r3, %r5
	blr
# Up to the first line: bytes up to a word, then words.
.Lclear_head:
	cmplw	%cr1, %r6, %r4
	andi.	%r7, %r6, 3
	srwi	%r8, %r6, 2
	bge	%cr1, .Lclear_words
	beq	7f
	mtctr	%r7
6:	EX .Lclear_done, stb %r0, 0(%r3)
	addi	%r3, %r3, 1
	bdnz	6b
7:	cmplwi	%r8, 0
	mtctr	%r8
	beq	.Lclear_headed
8:	EX .Lclear_bytes, stw %r0, 0(%r3)
	addi	%r3, %r3, 4
	bdnz	8b
.Lclear_headed:
	subf	%r4, %r3, %r5
	b	.Lclear_lines
END __arch_clear_user

# fn __clear_user_words(to: r3, length: r4) -> residue
# Without dcbz: for memory that is not cached, and to compare with. Clobbers r0, r3–r7, CTR, CR0.
FUNC __clear_user_words
	add	%r5, %r3, %r4
	li	%r0, 0
	neg	%r6, %r3
	andi.	%r6, %r6, 3
	cmplw	%cr1, %r6, %r4
	beq	2f
	bge	%cr1, .Lclear_bytes
	mtctr	%r6
1:	EX .Lclear_bytes, stb %r0, 0(%r3)
	addi	%r3, %r3, 1
	bdnz	1b
2:	subf	%r4, %r3, %r5
	srwi.	%r6, %r4, 4
	mtctr	%r6
	beq	.Lclear_words
	andi.	%r4, %r4, 15
3:	EX .Lclear_bytes, stw %r0, 0(%r3)
	EX .Lclear_bytes, stw %r0, 4(%r3)
	EX .Lclear_bytes, stw %r0, 8(%r3)
	EX .Lclear_bytes, stw %r0, 12(%r3)
	addi	%r3, %r3, 16
	bdnz	3b
	bne	.Lclear_words
	li	%r3, 0
	blr
END __clear_user_words

# fn __clear_user_bytes(to: r3, length: r4) -> residue
# Clobbers r0, r3–r5, CTR, CR0.
FUNC __clear_user_bytes
	add	%r5, %r3, %r4
	li	%r0, 0
	b	.Lclear_bytes
END __clear_user_bytes

# fn __get_user_N(address: r3) -> (fault: r3, value: r4): fault is 0 or 1, the value is 0 after a fault.
.macro GET_USER name, insn
FUNC \name
	EX .Lget_fault, \insn %r4, 0(%r3)
	li	%r3, 0
	blr
END \name
.endm
	GET_USER __get_user_1, lbz
	GET_USER __get_user_2, lhz
	GET_USER __get_user_4, lwz
.Lget_fault:
	li	%r3, 1
	li	%r4, 0
	blr

# fn __put_user_N(address: r3, value: r4) -> fault: 0 or 1.
.macro PUT_USER name, insn
FUNC \name
	EX .Lput_fault, \insn %r4, 0(%r3)
	li	%r3, 0
	blr
END \name
.endm
	PUT_USER __put_user_1, stb
	PUT_USER __put_user_2, sth
	PUT_USER __put_user_4, stw
.Lput_fault:
	li	%r3, 1
	blr

# fn __strncpy_from_user(to: r3, from: r4, count: r5) -> length without the NUL, count if there is none, or -1 on a fault.
# Byte by byte: nothing behind the NUL is read or written. Clobbers r6–r8, CTR, CR0.
FUNC __strncpy_from_user
	mr	%r6, %r4
	cmplwi	%r5, 0
	mtctr	%r5
	beq	2f
1:	EX .Lstrncpy_fault, lbz %r8, 0(%r4)
	stb	%r8, 0(%r3)
	cmplwi	%r8, 0
	beq	2f
	addi	%r4, %r4, 1
	addi	%r3, %r3, 1
	bdnz	1b
2:	subf	%r3, %r6, %r4
	blr
.Lstrncpy_fault:
	li	%r3, -1
	blr
END __strncpy_from_user

# fn __strnlen_user(from: r3, count: r4) -> length with the NUL, count + 1 if there is none, 0 on a fault.
# Clobbers r5, r6, CTR, CR0.
FUNC __strnlen_user
	mr	%r5, %r3
	mtctr	%r4
1:	EX .Lstrnlen_fault, lbz %r6, 0(%r3)
	cmplwi	%r6, 0
	addi	%r3, %r3, 1
	beq	2f
	bdnz	1b
	addi	%r3, %r3, 1
2:	subf	%r3, %r5, %r3
	blr
.Lstrnlen_fault:
	li	%r3, 0
	blr
END __strnlen_user

# fn __load_unaligned_zeropad(address: r3) -> (fault: r3, word: r4)
# If the word crosses into a page that cannot be read, the aligned word around its start is read instead and shifted, so
# that the missing bytes are 0. Clobbers r5, r6.
FUNC __load_unaligned_zeropad
	EX 1f, lwz %r4, 0(%r3)
	li	%r3, 0
	blr
1:	rlwinm	%r5, %r3, 0, 0, 29
	rlwinm	%r6, %r3, 3, 27, 28
	EX .Lget_fault, lwz %r4, 0(%r5)
	slw	%r4, %r4, %r6
	li	%r3, 0
	blr
END __load_unaligned_zeropad

# fn __get_kernel_nofault_N(address: r3) -> (fault: r3, value: r4), for kernel addresses; no window.
.macro GET_KERNEL_NOFAULT name, insn
FUNC \name
	EX_NOFAULT .Lget_fault, \insn %r4, 0(%r3)
	li	%r3, 0
	blr
END \name
.endm
	GET_KERNEL_NOFAULT __get_kernel_nofault_1, lbz
	GET_KERNEL_NOFAULT __get_kernel_nofault_2, lhz
	GET_KERNEL_NOFAULT __get_kernel_nofault_4, lwz

# fn __put_kernel_nofault_N(address: r3, value: r4) -> fault: 0 or 1.
.macro PUT_KERNEL_NOFAULT name, insn
FUNC \name
	EX_NOFAULT .Lput_fault, \insn %r4, 0(%r3)
	li	%r3, 0
	blr
END \name
.endm
	PUT_KERNEL_NOFAULT __put_kernel_nofault_1, stb
	PUT_KERNEL_NOFAULT __put_kernel_nofault_2, sth
	PUT_KERNEL_NOFAULT __put_kernel_nofault_4, stw

# Steps of the heads of all boards: from an image anywhere in RAM to one at physical 0 with its variables in place.
#
# A head uses them in the order in which they stand here, with what its own processor needs between them. They run with
# translation off (HEAD_FIND_IMAGE and HEAD_REAL_MODE also with an identity mapping) and touch no register but those named.

.section .head, "ax"

# Moves the r5 bytes at physical r3 to physical r4, words in ascending order. Clobbers r0, r3, r4, r5, CTR, CR0.
head_move:
	addi	%r5, %r5, 3
	srwi.	%r5, %r5, 2
	beqlr
	mtctr	%r5
	addi	%r3, %r3, -4
	addi	%r4, %r4, -4
1:	lwzu	%r0, 4(%r3)
	stwu	%r0, 4(%r4)
	bdnz	1b
	blr

# register = physical address of a symbol, of the image at 0.
.macro PHYSICAL register, symbol
	lis	\register, (\symbol - {KERNEL_BASE})@ha
	addi	\register, \register, (\symbol - {KERNEL_BASE})@l
.endm

# Interrupts off; r31 = physical address of the image as it lies. Clobbers r10, LR.
.macro HEAD_FIND_IMAGE
	mfmsr	%r10
	rlwinm	%r10, %r10, 0, 17, 15
	mtmsr	%r10
	isync
	bcl	20, 31, 90f
90:	mflr	%r31
	PHYSICAL %r10, 90b
	subf	%r31, %r10, %r31
.endm

# Translation off, at the present place. In: r31. Clobbers r3, r4, SRR0, SRR1.
.macro HEAD_REAL_MODE
	PHYSICAL %r3, 90f
	add	%r3, %r3, %r31
	mtsrr0	%r3
	li	%r4, {MSR_ME} | {MSR_RI}
	mtsrr1	%r4
	rfi
90:
.endm

# The image moves from r31 to 0; the code goes on where it was. Clobbers as head_move, LR.
.macro HEAD_MOVE_IMAGE
	mr	%r3, %r31
	li	%r4, 0
	lis	%r5, __image_end@ha
	addi	%r5, %r5, __image_end@l
	bl	head_move
.endm

# Goes on in the image at 0. Clobbers r3, LR.
.macro HEAD_GO_ON_AT_0
	PHYSICAL %r3, 90f
	mtlr	%r3
	blr
90:
.endm

# Moves the variables with a first value to their place and zeroes the others. Out: r0 = 0. Clobbers as head_move, LR.
.macro HEAD_INITIALIZE_VARIABLES
	lis	%r3, __data_load@ha
	addi	%r3, %r3, __data_load@l
	PHYSICAL %r4, __data_start
	PHYSICAL %r5, __data_end
	subf	%r5, %r4, %r5
	bl	head_move
	PHYSICAL %r4, __bss_start - 4
	PHYSICAL %r5, __bss_end - 4
	subf	%r5, %r4, %r5
	srwi	%r5, %r5, 2
	mtctr	%r5
	li	%r0, 0
90:	stwu	%r0, 4(%r4)
	bdnz	90b
.endm

# kernel_main on the kernel stack, with translation as the head has set it up. In: r0 = 0.
.macro HEAD_ENTER_KERNEL
	lis	%r1, (__kernel_stack_top - 16)@ha
	addi	%r1, %r1, (__kernel_stack_top - 16)@l
	PHYSICAL %r3, __kernel_stack_top - 16
	stw	%r0, 0(%r3)
	mtsprg	2, %r1
	lis	%r3, kernel_main@ha
	addi	%r3, %r3, kernel_main@l
	mtsrr0	%r3
	li	%r4, {MSR_KERNEL}
	mtsrr1	%r4
	rfi
.endm

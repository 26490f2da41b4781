# Exception entry and exit, shared by the families.
#
# Special registers: SPRG0, SPRG1 scratch of the entry code; SPRG2 virtual address of the empty kernel stack while user
# code runs. SPRG3 belongs to the family's TLB-miss handlers, which clobber SRR0 and SRR1 and nothing else that the
# interrupted code can see.
#
# The frame is written with translation off: no TLB miss can hit the entry code, and a guard page below the kernel
# stack cannot turn an overflow into an endless loop. When little is left of the kernel stack, the handler runs on the
# emergency stack, where no second exception may use it up in turn.

.section .text.entry, "ax"

# Saves the rest of the frame and calls trap_dispatch(frame) with translation on and external interrupts off.
# In: r10 = vector, r11 = physical frame; CR, r1, r10, r11 of the interrupted code are saved already.
FUNC trap_save
	stw	%r10, {FRAME_VECTOR}(%r11)
	stw	%r0, {FRAME_GPR}(%r11)
	stw	%r2, {FRAME_GPR} + 4*2(%r11)
	stw	%r3, {FRAME_GPR} + 4*3(%r11)
	stw	%r4, {FRAME_GPR} + 4*4(%r11)
	stw	%r5, {FRAME_GPR} + 4*5(%r11)
	stw	%r6, {FRAME_GPR} + 4*6(%r11)
	stw	%r7, {FRAME_GPR} + 4*7(%r11)
	stw	%r8, {FRAME_GPR} + 4*8(%r11)
	stw	%r9, {FRAME_GPR} + 4*9(%r11)
	stw	%r12, {FRAME_GPR} + 4*12(%r11)
	stmw	%r13, {FRAME_GPR} + 4*13(%r11)
	mfsrr0	%r3
	mfsrr1	%r4
	mflr	%r5
	mfctr	%r6
	mfxer	%r7
	mfdar	%r8
	mfdsisr	%r9
	stw	%r3, {FRAME_NIP}(%r11)
	stw	%r4, {FRAME_MSR}(%r11)
	stw	%r5, {FRAME_LR}(%r11)
	stw	%r6, {FRAME_CTR}(%r11)
	stw	%r7, {FRAME_XER}(%r11)
	stw	%r8, {FRAME_DAR}(%r11)
	stw	%r9, {FRAME_DSISR}(%r11)
	li	%r0, 0
	stw	%r0, 0(%r11)
	stw	%r0, {FRAME_WINDOW}(%r11)
	TRAP_FROM_USER_OR_KERNEL
	addis	%r31, %r11, {TO_VIRTUAL}
	mr	%r1, %r31
	lis	%r3, trap_virtual@ha
	addi	%r3, %r3, trap_virtual@l
	mtsrr0	%r3
	li	%r4, {MSR_KERNEL}
	mtsrr1	%r4
	rfi
END trap_save

# With translation on, r31 = r1 = frame: closes an open user-access window, remembering it in the frame.
FUNC trap_virtual
	WINDOW_SAVE %r31
	mr	%r3, %r31
	bl	trap_dispatch
# Returns to whatever the frame at r31 describes; all registers come from the frame.
	.global trap_exit
trap_exit:
	li	%r3, {MSR_KERNEL_UNRECOVERABLE}
	mtmsr	%r3
	isync
	WINDOW_RESTORE %r31
	lwz	%r4, {FRAME_MSR}(%r31)
	TRAP_TO_USER_OR_KERNEL %r4
	lwz	%r5, {FRAME_LR}(%r31)
	lwz	%r6, {FRAME_CTR}(%r31)
	lwz	%r7, {FRAME_XER}(%r31)
	lwz	%r8, {FRAME_CR}(%r31)
	mtlr	%r5
	mtctr	%r6
	mtxer	%r7
	mtcr	%r8
	mr	%r1, %r31
	lwz	%r10, {FRAME_GPR} + 4*10(%r1)
	mtsprg	0, %r10
	lwz	%r11, {FRAME_GPR} + 4*11(%r1)
	mtsprg	1, %r11
	lwz	%r0, {FRAME_GPR}(%r1)
	lwz	%r2, {FRAME_GPR} + 4*2(%r1)
	lwz	%r3, {FRAME_GPR} + 4*3(%r1)
	lwz	%r4, {FRAME_GPR} + 4*4(%r1)
	lwz	%r5, {FRAME_GPR} + 4*5(%r1)
	lwz	%r6, {FRAME_GPR} + 4*6(%r1)
	lwz	%r7, {FRAME_GPR} + 4*7(%r1)
	lwz	%r8, {FRAME_GPR} + 4*8(%r1)
	lwz	%r9, {FRAME_GPR} + 4*9(%r1)
	lwz	%r12, {FRAME_GPR} + 4*12(%r1)
	lmw	%r13, {FRAME_GPR} + 4*13(%r1)
	# A TLB miss on the frame would clobber SRR0 and SRR1, so they are loaded after the last access to it.
	# SRR1's upper half told about the exception; as an MSR some of it has a meaning.
	lwz	%r10, {FRAME_NIP}(%r1)
	lwz	%r11, {FRAME_MSR}(%r1)
	lwz	%r1, {FRAME_GPR} + 4*1(%r1)
	rlwinm	%r11, %r11, 0, 16, 31
	mtsrr0	%r10
	mtsrr1	%r11
	mfsprg	%r10, 0
	mfsprg	%r11, 1
	rfi
END trap_virtual

# The system call path, entered from the family's vector with translation on and interrupts enabled:
#   r0 number, r3–r8 arguments, r10 user r1, r11 user pc, r1 = empty kernel stack; CR and LR as user code left them.
# The MSR of user code is always the same, so it is not kept.
# As the Linux ABI has it, r0, r4–r12, CTR and XER are not preserved; all else is: r13–r31 by the callee's own
# convention. Result in r3; CR0[SO] set and r3 = errno on failure.
# The table's address is in two instructions, which set_syscall_table patches.
#
# There are three of it, and accounting.rs patches the address of one into the vector: by ticks, with exact times (user
# time gains the time base at the end of a stretch of user mode and loses it at the beginning), and with calls counted
# besides. Loads, and the time base, stand apart from their uses.
.macro SYSCALL_PATH suffix, exact, counted
FUNC transfer_to_syscall\suffix
	stw	%r10, {SYSCALL_R1}(%r1)
.if \exact
	mftb	%r10
.endif
	mfcr	%r9
	stw	%r11, {SYSCALL_NIP}(%r1)
.if \counted
	lis	%r11, accounting_state@ha
	lwz	%r12, (accounting_state + {ACCOUNT_CALLS})@l(%r11)
	addi	%r12, %r12, 1
	stw	%r12, (accounting_state + {ACCOUNT_CALLS})@l(%r11)
.endif
	stw	%r9, {SYSCALL_CR}(%r1)
.if \exact
	lis	%r11, accounting_state@ha
	lwz	%r9, (accounting_state + {ACCOUNT_USER})@l(%r11)
.endif
	cmplwi	%r0, {SYSCALL_COUNT}
	slwi	%r12, %r0, 2
.if \exact
	add	%r9, %r9, %r10
	stw	%r9, (accounting_state + {ACCOUNT_USER})@l(%r11)
.endif
	bge	2f
	.global syscall_table_site\suffix
syscall_table_site\suffix:
	addis	%r12, %r12, 0
	lwz	%r12, 0(%r12)
	mflr	%r9
	mtctr	%r12
	stw	%r9, {SYSCALL_LR}(%r1)
	bctrl
END transfer_to_syscall\suffix
FUNC ret_from_syscall\suffix
.if \exact
	mftb	%r10
	lis	%r11, accounting_state@ha
.endif
	lwz	%r9, {SYSCALL_CR}(%r1)
	cmpwi	%r3, 0
	lwz	%r4, {SYSCALL_LR}(%r1)
	rlwinm	%r9, %r9, 0, 4, 2
.if \exact
	lwz	%r5, (accounting_state + {ACCOUNT_USER})@l(%r11)
.endif
	blt	3f
1:	lwz	%r6, {SYSCALL_NIP}(%r1)
.if \exact
	subf	%r5, %r10, %r5
	stw	%r5, (accounting_state + {ACCOUNT_USER})@l(%r11)
.endif
	lis	%r12, {MSR_USER_HIGH_ADJUSTED}
	SYSCALL_DISABLE_INTERRUPTS %r7
	addi	%r12, %r12, {MSR_USER} - 0x10000
	lwz	%r1, {SYSCALL_R1}(%r1)
	mtlr	%r4
	mtcr	%r9
	SYSCALL_TO_USER %r7
	mtsrr0	%r6
	mtsrr1	%r12
	rfi
2:	mflr	%r9
	stw	%r9, {SYSCALL_LR}(%r1)
	li	%r3, -{ENOSYS}
	b	ret_from_syscall\suffix
# Negative: an error number, unless it is a large result.
3:	li	%r7, -{MAX_ERRNO}
	cmplw	%r3, %r7
	blt	1b
	neg	%r3, %r3
	oris	%r9, %r9, 0x1000
	b	1b
END ret_from_syscall\suffix
.endm

	.global	syscall_path_start
syscall_path_start:
SYSCALL_PATH , 1, 0
SYSCALL_PATH _by_ticks, 0, 0
SYSCALL_PATH _counted, 1, 1
	.global	syscall_path_end
syscall_path_end:

# fn enter_user(pc: r3, stack: r4) -> i32: starts user code with all other registers zero. Returns when leave_user is
# called, with its argument; r13–r31, CR and LR of the caller are kept on the kernel stack meanwhile.
FUNC enter_user
	mflr	%r0
	stwu	%r1, -96(%r1)
	stw	%r0, 100(%r1)
	mfcr	%r0
	stw	%r0, 12(%r1)
	stmw	%r13, 16(%r1)
	li	%r5, {MSR_KERNEL_UNRECOVERABLE}
	mtmsr	%r5
	isync
	lis	%r5, user_caller_stack@ha
	stw	%r1, user_caller_stack@l(%r5)
	# The stack of system calls starts at the same offset in a page however deep the caller is: what it shares the sets of
	# the data cache with would depend on that, and so would every figure.
	addi	%r1, %r1, -0x800
	clrrwi	%r1, %r1, 12
	addi	%r1, %r1, 0x800
	li	%r0, 0
	stwu	%r0, -{SYSCALL_SIZE}(%r1)
	mtsprg	2, %r1
	mr	%r1, %r4
	SYSCALL_TO_USER %r10
	mtsrr0	%r3
	lis	%r5, {MSR_USER}@h
	ori	%r5, %r5, {MSR_USER}@l
	mtsrr1	%r5
	mtlr	%r0
	mtctr	%r0
	mtxer	%r0
	mtcr	%r0
	mr	%r2, %r0
	mr	%r3, %r0
	mr	%r4, %r0
	mr	%r5, %r0
	mr	%r6, %r0
	mr	%r7, %r0
	mr	%r8, %r0
	mr	%r9, %r0
	mr	%r10, %r0
	mr	%r11, %r0
	mr	%r12, %r0
	mr	%r13, %r0
	mr	%r14, %r0
	mr	%r15, %r0
	mr	%r16, %r0
	mr	%r17, %r0
	mr	%r18, %r0
	mr	%r19, %r0
	mr	%r20, %r0
	mr	%r21, %r0
	mr	%r22, %r0
	mr	%r23, %r0
	mr	%r24, %r0
	mr	%r25, %r0
	mr	%r26, %r0
	mr	%r27, %r0
	mr	%r28, %r0
	mr	%r29, %r0
	mr	%r30, %r0
	mr	%r31, %r0
	rfi
END enter_user

# fn leave_user(value: r3) -> !: gives up whatever the kernel stack holds above enter_user's frame and returns from
# enter_user with `value`, interrupts enabled.
FUNC leave_user
	lis	%r5, user_caller_stack@ha
	lwz	%r1, user_caller_stack@l(%r5)
	lwz	%r0, 12(%r1)
	mtcr	%r0
	lmw	%r13, 16(%r1)
	lwz	%r0, 100(%r1)
	addi	%r1, %r1, 96
	mtlr	%r0
	li	%r5, {MSR_KERNEL_INTERRUPTIBLE} - 0x10000
	rlwinm	%r5, %r5, 0, 16, 31
	mtmsr	%r5
	isync
	blr
END leave_user

# fn catch_call(function: r3, argument: r4, buffer: r5) -> u32: calls function(argument) and returns 0; if a kernel
# fault is recovered meanwhile, catch_resume(buffer, value) makes this call return `value` instead.
FUNC catch_call
	mflr	%r0
	stw	%r0, 4(%r1)
	stw	%r0, 0(%r5)
	stw	%r1, 4(%r5)
	mfcr	%r0
	stw	%r0, 8(%r5)
	stmw	%r13, 12(%r5)
	stwu	%r1, -16(%r1)
	mtctr	%r3
	mr	%r3, %r4
	bctrl
	addi	%r1, %r1, 16
	lwz	%r0, 4(%r1)
	mtlr	%r0
	li	%r3, 0
	blr
END catch_call

FUNC catch_resume
	lwz	%r0, 0(%r3)
	lwz	%r1, 4(%r3)
	mtlr	%r0
	lwz	%r0, 8(%r3)
	mtcr	%r0
	lmw	%r13, 12(%r3)
	mr	%r3, %r4
	blr
END catch_resume

.section .bss, "aw", @nobits
	.balign	16
	.space	8192
	.global __emergency_stack_top
__emergency_stack_top:
	.space	16

# From reset, a loader device or OpenBIOS to Rust on QEMU's g3beige.
#
# In: any MSR with an identity mapping of the image if translation is on; the image lies anywhere in RAM. Nothing else is
# taken from the caller: the command line and the archive come through fw_cfg.
# Out: kernel_main(), translation on, image at physical 0, data moved, bss zero, r1 = top of the kernel stack. The boot
# mapping is one writable block over all of RAM; kernel_main narrows it.

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

FUNC head_entry
	bcl	20, 31, 1f
1:	mflr	%r31
	lis	%r30, (1b - {KERNEL_BASE})@ha
	addi	%r30, %r30, (1b - {KERNEL_BASE})@l
	subf	%r31, %r30, %r31

	# Translation and interrupts off at the present place, r31 = physical start of the image.
	lis	%r3, (2f - {KERNEL_BASE})@ha
	addi	%r3, %r3, (2f - {KERNEL_BASE})@l
	add	%r3, %r3, %r31
	mtsrr0	%r3
	li	%r4, {MSR_ME} | {MSR_RI}
	mtsrr1	%r4
	rfi

2:	cmpwi	%r31, 0
	beq	4f
	mr	%r3, %r31
	li	%r4, 0
	lis	%r5, __image_end@ha
	addi	%r5, %r5, __image_end@l
	bl	head_move
	# The moved code goes to memory and out of the instruction cache before it runs. Cache lines are at least 16 bytes.
	lis	%r5, (__image_end + 15)@ha
	addi	%r5, %r5, (__image_end + 15)@l
	srwi	%r5, %r5, 4
	mtctr	%r5
	li	%r4, 0
3:	dcbst	0, %r4
	sync
	icbi	0, %r4
	addi	%r4, %r4, 16
	bdnz	3b
	sync
	isync
	lis	%r3, (4f - {KERNEL_BASE})@ha
	addi	%r3, %r3, (4f - {KERNEL_BASE})@l
	mtlr	%r3
	blr

	# QEMU moves the vector prefix only when MSR[IP] changes, so it is set and cleared, whatever it was.
4:	li	%r3, {MSR_ME} | {MSR_RI} | {MSR_IP}
	mtmsr	%r3
	isync
	li	%r3, {MSR_ME} | {MSR_RI}
	mtmsr	%r3
	isync

	lis	%r3, __data_load@ha
	addi	%r3, %r3, __data_load@l
	lis	%r4, (__data_start - {KERNEL_BASE})@ha
	addi	%r4, %r4, (__data_start - {KERNEL_BASE})@l
	lis	%r5, (__data_end - {KERNEL_BASE})@ha
	addi	%r5, %r5, (__data_end - {KERNEL_BASE})@l
	subf	%r5, %r4, %r5
	bl	head_move
	lis	%r4, (__bss_start - {KERNEL_BASE} - 4)@ha
	addi	%r4, %r4, (__bss_start - {KERNEL_BASE} - 4)@l
	lis	%r5, (__bss_end - {KERNEL_BASE} - 4)@ha
	addi	%r5, %r5, (__bss_end - {KERNEL_BASE} - 4)@l
	subf	%r5, %r4, %r5
	srwi	%r5, %r5, 2
	mtctr	%r5
	li	%r0, 0
5:	stwu	%r0, 4(%r4)
	bdnz	5b

	# All BATs off, then: RAM for data, the image for instructions, devices. See mmu.rs for what becomes of them.
	li	%r0, 0
	mtspr	528, %r0
	mtspr	530, %r0
	mtspr	532, %r0
	mtspr	534, %r0
	mtspr	536, %r0
	mtspr	538, %r0
	mtspr	540, %r0
	mtspr	542, %r0
	isync
	# The instruction block is read-only, because QEMU lets data accesses use what a fetch has found.
	li	%r3, {BAT_READ_ONLY_LOWER}
	lis	%r4, {KERNEL_BASE_HIGH} - 0x10000
	ori	%r5, %r4, {BAT_512K} | {BAT_SUPERVISOR}
	mtspr	529, %r3
	mtspr	528, %r5
	li	%r3, {BAT_RAM_LOWER}
	ori	%r5, %r4, {BAT_256M} | {BAT_SUPERVISOR}
	mtspr	537, %r3
	mtspr	536, %r5
	lis	%r4, {DEVICE_BASE_HIGH} - 0x10000
	ori	%r3, %r4, {BAT_DEVICE_LOWER}
	ori	%r5, %r4, {BAT_256M} | {BAT_SUPERVISOR}
	mtspr	539, %r3
	mtspr	538, %r5
	isync

	# Segments: 0–7 user, closed to the kernel; 8–11 nobody's; 12–15 kernel only. Nothing executes through them yet.
	li	%r6, 0
6:	lis	%r7, {SEGMENT_CLOSED_HIGH}
	cmplwi	%r6, 8
	blt	7f
	lis	%r7, {SEGMENT_NOBODY_HIGH}
	cmplwi	%r6, 12
	blt	7f
	lis	%r7, {SEGMENT_KERNEL_HIGH}
7:	rlwimi	%r7, %r6, 16, 12, 15
	slwi	%r8, %r6, 28
	mtsrin	%r7, %r8
	addi	%r6, %r6, 1
	cmplwi	%r6, 16
	blt	6b
	mtspr	25, %r0
	li	%r4, 64
	mtctr	%r4
	li	%r3, 0
8:	tlbie	%r3
	addi	%r3, %r3, 0x1000
	bdnz	8b
	sync
	isync

	lis	%r1, (__kernel_stack_top - 16)@ha
	addi	%r1, %r1, (__kernel_stack_top - 16)@l
	li	%r0, 0
	lis	%r3, (__kernel_stack_top - {KERNEL_BASE} - 16)@ha
	addi	%r3, %r3, (__kernel_stack_top - {KERNEL_BASE} - 16)@l
	stw	%r0, 0(%r3)
	mtsprg	2, %r1
	mtsprg	3, %r0
	lis	%r3, kernel_main@ha
	addi	%r3, %r3, kernel_main@l
	mtsrr0	%r3
	li	%r4, {MSR_KERNEL}
	mtsrr1	%r4
	rfi
END head_entry

# From reset, a loader device or OpenBIOS to Rust on QEMU's g3beige.
#
# In: any MSR with an identity mapping of the image if translation is on; the image lies anywhere in RAM. Nothing else is
# taken from the caller: the command line and the archive come through fw_cfg.
# Out: kernel_main(), translation on, image at physical 0, data moved, bss zero, r1 = top of the kernel stack. The boot
# mapping is one writable block over all of RAM; kernel_main narrows it.

.section .head, "ax"

FUNC head_entry
	HEAD_FIND_IMAGE
	HEAD_REAL_MODE
	cmpwi	%r31, 0
	beq	2f
	HEAD_MOVE_IMAGE
	# The moved code goes to memory and out of the instruction cache before it runs. Cache lines are at least 16 bytes.
	lis	%r5, (__image_end + 15)@ha
	addi	%r5, %r5, (__image_end + 15)@l
	srwi	%r5, %r5, 4
	mtctr	%r5
	li	%r4, 0
1:	dcbst	0, %r4
	sync
	icbi	0, %r4
	addi	%r4, %r4, 16
	bdnz	1b
	sync
	isync
	HEAD_GO_ON_AT_0

	# QEMU moves the vector prefix only when MSR[IP] changes, so it is set and cleared, whatever it was.
2:	li	%r3, {MSR_ME} | {MSR_RI} | {MSR_IP}
	mtmsr	%r3
	isync
	li	%r3, {MSR_ME} | {MSR_RI}
	mtmsr	%r3
	isync

	HEAD_INITIALIZE_VARIABLES

	# All BATs off, then: RAM for data, the image for instructions, devices. See mmu.rs for what becomes of them.
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
3:	lis	%r7, {SEGMENT_CLOSED_HIGH}
	cmplwi	%r6, 8
	blt	4f
	lis	%r7, {SEGMENT_NOBODY_HIGH}
	cmplwi	%r6, 12
	blt	4f
	lis	%r7, {SEGMENT_KERNEL_HIGH}
4:	rlwimi	%r7, %r6, 16, 12, 15
	slwi	%r8, %r6, 28
	mtsrin	%r7, %r8
	addi	%r6, %r6, 1
	cmplwi	%r6, 16
	blt	3b
	mtspr	25, %r0
	li	%r4, 64
	mtctr	%r4
	li	%r3, 0
5:	tlbie	%r3
	addi	%r3, %r3, 0x1000
	bdnz	5b
	sync
	isync

	mtsprg	3, %r0
	HEAD_ENTER_KERNEL
END head_entry

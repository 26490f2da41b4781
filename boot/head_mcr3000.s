# From a boot loader or the reset image to Rust on MPC8xx boards.
#
# In: r3–r9 as the loader left them (kept in head_arguments), MSR with translation off or an identity mapping, caches and
# TLBs in any state, the image anywhere in RAM; RAM, clocks and IMMR set up.
# Out: kernel_main(), translation on, image at physical 0, data moved, bss zero, caches on, r1 = top of the kernel stack.
# The boot mapping, data side: 128 MiB of RAM by 8 MiB pages (the first one pinned), 512 KiB around IMMR pinned at
# IMMR_VIRTUAL. Instruction side: 512 KiB of the image, pinned. kernel_main narrows the data side.
#
# The order of caches and TLBs follows reference document 1.8, 2.11 and 3.2.

.section .head, "ax"

FUNC head_entry
	# Keep what the loader said: r3–r9 in r24–r30.
	mr	%r24, %r3
	mr	%r25, %r4
	mr	%r26, %r5
	mr	%r27, %r6
	mr	%r28, %r7
	mr	%r29, %r8
	mr	%r30, %r9
	HEAD_FIND_IMAGE
	HEAD_REAL_MODE
	li	%r0, 0
	mtspr	{SPR_LCTRL1}, %r0
	mtspr	{SPR_LCTRL2}, %r0
	mfspr	%r3, {SPR_ICR}
	li	%r3, 7
	mtspr	{SPR_ICTRL}, %r3
	isync

	# Data cache: if it is on, reading twice its largest size pushes every modified line out to memory, whatever the part,
	# locked lines once they are not; then it is off and empty until translation can keep it away from devices.
	lis	%r3, {CACHE_UNLOCK_ALL_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	mtspr	{SPR_IC_CST}, %r3
	mfspr	%r3, {SPR_DC_CST}
	andis.	%r3, %r3, 0x8000
	beq	2f
	li	%r4, 16384 / 16
	mtctr	%r4
	mr	%r3, %r31
1:	lwz	%r4, 0(%r3)
	addi	%r3, %r3, 16
	bdnz	1b
	sync
2:	lis	%r3, {CACHE_DISABLE_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	lis	%r3, {CACHE_INVALIDATE_ALL_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	mtspr	{SPR_IC_CST}, %r3
	lis	%r3, {DC_CLEAR_WRITE_THROUGH_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	lis	%r3, {DC_CLEAR_LITTLE_ENDIAN_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	isync

	cmpwi	%r31, 0
	beq	3f
	HEAD_MOVE_IMAGE
	# The data cache is off, so the image is in memory; the instruction cache may have seen the old content.
	lis	%r3, {CACHE_INVALIDATE_ALL_HIGH}
	mtspr	{SPR_IC_CST}, %r3
	sync
	isync
	HEAD_GO_ON_AT_0

3:	lis	%r3, {CACHE_ENABLE_HIGH}
	mtspr	{SPR_IC_CST}, %r3
	isync
	HEAD_INITIALIZE_VARIABLES
	PHYSICAL %r3, head_arguments
	stw	%r24, 0(%r3)
	stw	%r25, 4(%r3)
	stw	%r26, 8(%r3)
	stw	%r27, 12(%r3)
	stw	%r28, 16(%r3)
	stw	%r29, 20(%r3)
	stw	%r30, 24(%r3)

	# TLBs: nothing reserved while they are emptied.
	mtspr	{SPR_MI_CTR}, %r0
	lis	%r3, {MD_CTR_TWAM}@h
	mtspr	{SPR_MD_CTR}, %r3
	tlbia
	isync
	mtspr	{SPR_M_CASID}, %r0
	mtspr	{SPR_M_TWB}, %r0
	lis	%r3, {WINDOW_CLOSED_HIGH}
	mtspr	{SPR_MI_AP}, %r3
	mtspr	{SPR_MD_AP}, %r3

	lis	%r3, {CTR_RESERVE}@h
	ori	%r3, %r3, {CTR_INDEX_28}
	mtspr	{SPR_MI_CTR}, %r3
	lis	%r4, {KERNEL_BASE_HIGH} - 0x10000
	ori	%r4, %r4, {EPN_VALID}
	mtspr	{SPR_MI_EPN}, %r4
	li	%r5, {TWC_512K}
	mtspr	{SPR_MI_TWC}, %r5
	li	%r6, {RPN_KERNEL}
	mtspr	{SPR_MI_RPN}, %r6
	lis	%r3, {CTR_RESERVE}@h
	mtspr	{SPR_MI_CTR}, %r3

	# RAM in 8 MiB pages: entry 28, then 0–14.
	lis	%r3, ({CTR_RESERVE} | {MD_CTR_TWAM})@h
	ori	%r7, %r3, {CTR_INDEX_28}
	li	%r5, {TWC_8M}
	li	%r8, 16
	mtctr	%r8
	li	%r8, 0
4:	mtspr	{SPR_MD_CTR}, %r7
	mtspr	{SPR_MD_EPN}, %r4
	mtspr	{SPR_MD_TWC}, %r5
	mtspr	{SPR_MD_RPN}, %r6
	addis	%r4, %r4, 0x80
	addis	%r6, %r6, 0x80
	or	%r7, %r3, %r8
	addi	%r8, %r8, 0x100
	bdnz	4b
	ori	%r7, %r3, {CTR_INDEX_30}
	mtspr	{SPR_MD_CTR}, %r7
	lis	%r4, {IMMR_VIRTUAL_HIGH} - 0x10000
	ori	%r4, %r4, {EPN_VALID}
	mtspr	{SPR_MD_EPN}, %r4
	li	%r5, {TWC_512K_GUARDED}
	mtspr	{SPR_MD_TWC}, %r5
	mfspr	%r6, {SPR_IMMR}
	rlwinm	%r6, %r6, 0, 0, 12
	ori	%r6, %r6, {RPN_DEVICE}
	mtspr	{SPR_MD_RPN}, %r6
	mtspr	{SPR_MD_CTR}, %r3
	lis	%r3, {CACHE_ENABLE_HIGH}
	sync
	mtspr	{SPR_DC_CST}, %r3
	isync

	li	%r3, {DAR_TAG}
	mtdar	%r3
	HEAD_ENTER_KERNEL
END head_entry

	.section .bss, "aw", @nobits
	.balign	4
	.global head_arguments
head_arguments:
	.space	28

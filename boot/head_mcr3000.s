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

# Moves r5 bytes from physical r3 to physical r4, words in ascending order. Clobbers r0, r3, r4, r5, CTR, CR0.
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
	# Keep what the loader said: r3–r9 in r24–r30.
	mr	%r24, %r3
	mr	%r25, %r4
	mr	%r26, %r5
	mr	%r27, %r6
	mr	%r28, %r7
	mr	%r29, %r8
	mr	%r30, %r9
	bcl	20, 31, 1f
1:	mflr	%r31
	lis	%r10, (1b - {KERNEL_BASE})@ha
	addi	%r10, %r10, (1b - {KERNEL_BASE})@l
	subf	%r31, %r10, %r31

	# Translation and interrupts off at the present place, r31 = physical start of the image.
	lis	%r3, (2f - {KERNEL_BASE})@ha
	addi	%r3, %r3, (2f - {KERNEL_BASE})@l
	add	%r3, %r3, %r31
	mtsrr0	%r3
	li	%r4, {MSR_ME} | {MSR_RI}
	mtsrr1	%r4
	rfi

2:	li	%r0, 0
	mtspr	{SPR_LCTRL1}, %r0
	mtspr	{SPR_LCTRL2}, %r0
	mfspr	%r3, {SPR_ICR}
	li	%r3, 7
	mtspr	{SPR_ICTRL}, %r3
	isync

	# Data cache: if it is on, reading twice its largest size pushes every modified line out to memory, whatever the part;
	# then it is off and empty until translation can keep it away from devices.
	mfspr	%r3, {SPR_DC_CST}
	andis.	%r3, %r3, 0x8000
	beq	4f
	li	%r4, 16384 / 16
	mtctr	%r4
	mr	%r3, %r31
3:	lwz	%r4, 0(%r3)
	addi	%r3, %r3, 16
	bdnz	3b
	sync
4:	lis	%r3, {CACHE_DISABLE_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	lis	%r3, {CACHE_UNLOCK_ALL_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	mtspr	{SPR_IC_CST}, %r3
	lis	%r3, {CACHE_INVALIDATE_ALL_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	mtspr	{SPR_IC_CST}, %r3
	lis	%r3, {DC_CLEAR_WRITE_THROUGH_HIGH}
	mtspr	{SPR_DC_CST}, %r3
	isync

	cmpwi	%r31, 0
	beq	5f
	mr	%r3, %r31
	li	%r4, 0
	lis	%r5, __image_end@ha
	addi	%r5, %r5, __image_end@l
	bl	head_move
	# The data cache is off, so the image is in memory; the instruction cache may have seen the old content.
	lis	%r3, {CACHE_INVALIDATE_ALL_HIGH}
	mtspr	{SPR_IC_CST}, %r3
	sync
	isync
	lis	%r3, (5f - {KERNEL_BASE})@ha
	addi	%r3, %r3, (5f - {KERNEL_BASE})@l
	mtlr	%r3
	blr

5:	lis	%r3, {CACHE_ENABLE_HIGH}
	mtspr	{SPR_IC_CST}, %r3
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
6:	stwu	%r0, 4(%r4)
	bdnz	6b
	lis	%r3, (head_arguments - {KERNEL_BASE})@ha
	addi	%r3, %r3, (head_arguments - {KERNEL_BASE})@l
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
7:	mtspr	{SPR_MD_CTR}, %r7
	mtspr	{SPR_MD_EPN}, %r4
	mtspr	{SPR_MD_TWC}, %r5
	mtspr	{SPR_MD_RPN}, %r6
	addis	%r4, %r4, 0x80
	addis	%r6, %r6, 0x80
	or	%r7, %r3, %r8
	addi	%r8, %r8, 0x100
	bdnz	7b
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

	lis	%r1, (__kernel_stack_top - 16)@ha
	addi	%r1, %r1, (__kernel_stack_top - 16)@l
	lis	%r3, (__kernel_stack_top - {KERNEL_BASE} - 16)@ha
	addi	%r3, %r3, (__kernel_stack_top - {KERNEL_BASE} - 16)@l
	stw	%r0, 0(%r3)
	mtsprg	2, %r1
	li	%r3, {DAR_TAG}
	mtdar	%r3
	lis	%r3, kernel_main@ha
	addi	%r3, %r3, kernel_main@l
	mtsrr0	%r3
	li	%r4, {MSR_KERNEL}
	mtsrr1	%r4
	rfi
END head_entry

	.section .bss, "aw", @nobits
	.balign	4
	.global head_arguments
head_arguments:
	.space	28

/* A plugin of QEMU's user mode that counts the instructions a program executes, and notes the count at marks.
 *
 * A mark is the system call getppid, which a program seldom makes otherwise. Each appends a line with the count so far to the
 * file that the environment variable ICOUNT_FILE names. The count is of all threads together. Where ICOUNT_BLOCKS names a file,
 * it gets a line for each block of instructions at the end: its address, in hexadecimal, and the instructions executed in it
 * between the first mark and the second, the third and the fourth, and so on.
 *
 * Debian ships no qemu-plugin.h, so what is used of it stands here: version 1 of QEMU's documented plugin interface ("TCG
 * Plugins"), which QEMU 7.2 has. Build: gcc -shared -fPIC -O2 -o icount.so icount.c
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define AARCH64_GETPPID 173 /* asm-generic/unistd.h */

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, enum qemu_plugin_op op, void *counter, uint64_t add);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, void *), void *data);
void qemu_plugin_register_vcpu_syscall_cb(
    qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, unsigned int, int64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                          uint64_t, uint64_t, uint64_t, uint64_t));

EXPORT int qemu_plugin_version = 1;

struct block {
    struct block *next;
    uint64_t address, executed, before, between;
};

static uint64_t n_instructions, n_marks;
static FILE *marks, *profile;
static struct block *blocks;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    struct block *block = profile ? calloc(1, sizeof *block) : NULL;
    (void)id;
    if (block) {
        block->next = blocks;
        block->address = qemu_plugin_tb_vaddr(tb);
        blocks = block;
        qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &block->executed, qemu_plugin_tb_n_insns(tb));
    }
    qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &n_instructions, qemu_plugin_tb_n_insns(tb));
}

static void system_call(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                        uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id, (void)vcpu, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if (number == AARCH64_GETPPID) {
        fprintf(marks, "%" PRIu64 "\n", n_instructions);
        fflush(marks);
        n_marks++;
        for (struct block *block = blocks; block; block = block->next) {
            if (n_marks % 2)
                block->before = block->executed;
            else
                block->between += block->executed - block->before;
        }
    }
}

static void write_profile(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    for (struct block *block = blocks; block; block = block->next) {
        if (block->between)
            fprintf(profile, "%" PRIx64 " %" PRIu64 "\n", block->address, block->between);
    }
    fclose(profile);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    const char *path = getenv("ICOUNT_FILE"), *blocks_path = getenv("ICOUNT_BLOCKS");
    (void)info, (void)argc, (void)argv;
    marks = path ? fopen(path, "a") : NULL;
    if (!marks) {
        fprintf(stderr, "error: icount: ICOUNT_FILE must name a file that can be written\n");
        return 1;
    }
    if (blocks_path) {
        profile = fopen(blocks_path, "w");
        if (!profile) {
            fprintf(stderr, "error: icount: ICOUNT_BLOCKS must name a file that can be written\n");
            return 1;
        }
        qemu_plugin_register_atexit_cb(id, write_profile, NULL);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, system_call);
    return 0;
}

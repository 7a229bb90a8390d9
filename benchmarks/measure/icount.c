/* A plugin of QEMU's user mode that counts the instructions a program executes, and notes the count at marks.
 *
 * A mark is the system call getppid, which a program seldom makes otherwise. Each appends a line with the count so far to the
 * file that the environment variable ICOUNT_FILE names. The count is of all threads together.
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
void qemu_plugin_register_vcpu_syscall_cb(
    qemu_plugin_id_t id, void (*callback)(qemu_plugin_id_t, unsigned int, int64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                          uint64_t, uint64_t, uint64_t, uint64_t));

EXPORT int qemu_plugin_version = 1;

static uint64_t n_instructions;
static FILE *marks;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &n_instructions, qemu_plugin_tb_n_insns(tb));
}

static void system_call(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                        uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
    (void)id, (void)vcpu, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
    if (number == AARCH64_GETPPID) {
        fprintf(marks, "%" PRIu64 "\n", n_instructions);
        fflush(marks);
    }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    const char *path = getenv("ICOUNT_FILE");
    (void)info, (void)argc, (void)argv;
    marks = path ? fopen(path, "a") : NULL;
    if (!marks) {
        fprintf(stderr, "error: icount: ICOUNT_FILE must name a file that can be written\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, system_call);
    return 0;
}

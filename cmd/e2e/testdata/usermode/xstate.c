/*
 * For a user-mode kernel on a CPU whose extended registers (AMX) are larger than
 * the 2.6 KiB that kernel keeps of a task: PTRACE_SETREGSET of a part is refused
 * (EINVAL), so what is missing is taken from the task as it is.
 *
 * cc -shared -fPIC -o xstate.so xstate.c; LD_PRELOAD=./xstate.so linux.uml ...
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef NT_X86_XSTATE
#define NT_X86_XSTATE 0x202
#endif

static char whole[1 << 16];

long ptrace(enum __ptrace_request request, ...)
{
	va_list ap;
	va_start(ap, request);
	long pid = va_arg(ap, long);
	void *addr = va_arg(ap, void *);
	void *data = va_arg(ap, void *);
	va_end(ap);

	if (request == PTRACE_SETREGSET && addr == (void *)NT_X86_XSTATE) {
		struct iovec *part = data, all = {whole, sizeof whole};
		if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, addr, &all) < 0)
			return -1;
		if (part->iov_len < all.iov_len) {
			memcpy(whole, part->iov_base, part->iov_len);
			return syscall(SYS_ptrace, request, pid, addr, &all);
		}
	}
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
		long word;
		errno = 0;
		return syscall(SYS_ptrace, request, pid, addr, &word) < 0 ? -1 : word;
	}
	return syscall(SYS_ptrace, request, pid, addr, data);
}

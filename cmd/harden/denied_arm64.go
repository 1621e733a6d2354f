package harden

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	x32Bit    = 0 // no second set of numbers here
)

// deniedOld lists the older forms of denied calls that this architecture has.
var deniedOld = []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_RENAMEAT}

// Package harden removes privileges that a process does not need for its role.
//
// It works in two steps, because some privileges can only be dropped before exec and
// others only after the start:
//
//   - The supervisor starts every role from its own thread, on which it calls LimitThread once.
//     The thread loses ambient capabilities, the bounding set and the ability to gain privileges
//     by exec, and every process started from it inherits that. The exec itself switches the
//     user.
//   - Each role first calls Engine, Manager or Helper. They install an allow list of system calls
//     (seccomp, allowed.go) for the process and the programs it starts. Engine and Helper also
//     restrict access to files (Landlock). The engine, which faces the internet, loses all access
//     and the ability to listen. netd, which is root, keeps only the files in helper.go.
//
// Programs inherit all of it, which limits how strict a list can be. The engine starts
// none and has only the calls of the Go runtime and its sockets. The programs of netd,
// nft and iptables, read files and start programs, but create, change or remove no files.
// For mgmt, which starts none, the list keeps the file operations of ordinary programs.
// Operator programs are started by progd, each from a thread with reduced privileges
// (program.go).
//
// Landlock applies to threads. syscall.AllThreadsSyscall applies it to all threads of a
// Go process, but exists only without cgo; release builds do not use cgo. Without
// Landlock (older kernel, cgo build) the seccomp filter alone protects files from the
// engine: it allows no call that opens any. Status reads the effective state from the
// kernel, and `sluice status` shows it.
package harden

// Package harden takes away from a process what its role does not need.
//
// It works in two steps, because some rights can only be lost before a program
// is executed and others only after it has started:
//
//   - The supervisor gives every role a thread that runs it and calls LimitThread on it
//     once. The thread loses the right to gain privileges by exec, its ambient
//     capabilities and the bounding set, and every process started from it
//     inherits that. The switch to another user happens at the exec itself.
//   - The role calls Engine, Manager or Helper first thing in its own life. Each
//     puts the process behind a list of system calls (seccomp, allowed.go): what
//     is not on the list is refused, whoever asks, for the role and the programs
//     it starts. Engine and Helper take away rights on files too (Landlock): the
//     engine, which faces the internet, loses all of them, and the right to
//     listen; netd, which is root, all but those helper.go names.
//
// Programs inherit all of it. That decides how narrow a list can be: the engine
// starts none and has what the Go runtime and its sockets take; netd runs nft and
// iptables, which read files and start others, and make, change or remove none;
// mgmt starts none, and keeps what ordinary programs do with files. Programs of operators
// are started by progd, each from a thread that gave up what no program needs (program.go).
//
// Landlock acts on threads and Go has many, so it is applied to all of them by
// syscall.AllThreadsSyscall, which exists only in programs without cgo; the
// appliance is built without. Where Landlock is missing (older kernel, cgo
// build) the seccomp filter alone keeps the engine's files closed: it has no call
// that opens any. What is in force is never assumed: Status reads it back from
// the kernel, and is shown by `sluice status`.
package harden

// Package harden takes away from a process what its role does not need.
//
// It works in two steps, because some rights can only be lost before a program
// is executed and others only after it has started:
//
//   - The supervisor gives every role a keeper thread and calls Keeper on it
//     once. The thread loses the right to gain privileges by exec, its ambient
//     capabilities and the bounding set, and every process started from it
//     inherits that. The switch to another user happens at the exec itself.
//   - The role calls Engine, Manager or Helper first thing in its own life.
//     For the engine, the process that faces the internet, this closes the
//     file system and the right to listen (Landlock) and a list of system
//     calls (seccomp: exec, new processes, ptrace, opening of files, sockets
//     other than IP, signals to others, and what administers a machine).
//
// Landlock acts on threads and Go has many, so it is applied to all of them by
// syscall.AllThreadsSyscall, which exists only in programs without cgo; the
// appliance is built without. Where Landlock is missing (older kernel, cgo
// build) the seccomp filter alone keeps files closed, which is why it denies
// opening in any case. What is in force is never assumed: Status reads it back
// from the kernel, and is shown by `sluice status`.
package harden

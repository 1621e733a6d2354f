// Package shm creates, maps and passes memory that two processes share.
//
// There are two kinds of memory, both anonymous files (memfd) that vanish with
// their last descriptor and last mapping:
//
//   - Sealed memory is written once and then frozen by the kernel: nobody, not
//     even its creator, can change or resize it. A reader may trust that what
//     it verified stays what it verified, and that no page disappears under it
//     (no SIGBUS). Snapshots travel in it.
//   - Shared memory stays writable but cannot be resized. Health tables and
//     counters live in it; ReadOnly gives a descriptor that can only be read.
//
// Create and Open read shared memory as a struct that begins with a Header.
//
// Descriptors reach the other process over a unix socket of type
// SOCK_SEQPACKET (network "unixpacket"), one message at a time: Send and
// Receive. The package knows nothing of what else the bytes mean.
//
// All functions may be called from any goroutine. A Mapping has one owner, who
// closes it after the last use of its bytes.
package shm

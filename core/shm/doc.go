// Package shm creates, maps and passes memory that two processes share.
//
// There are two kinds of memory. Both are anonymous files (memfd) that exist until
// their last descriptor and mapping are closed:
//
//   - Sealed memory is written once and then sealed by the kernel: no process, including
//     its creator, can modify or resize it. Content that a reader has verified cannot
//     change, and accesses cannot cause SIGBUS. It is used for snapshots.
//   - Shared memory is writable but cannot be resized. It is used for health tables and
//     counters. ReadOnly returns a descriptor that can only be read.
//
// Create and Open overlay shared memory with a struct that begins with a Header.
//
// Send and Receive pass descriptors to another process over a unix socket of type
// SOCK_SEQPACKET (network "unixpacket"), one message at a time. The package does not
// interpret the messages.
//
// All functions are safe for concurrent use. A Mapping has one owner, who must close it
// after the last use of its bytes.
package shm

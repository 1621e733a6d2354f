// Package roundtrips measures the cost of round trips of 64-byte datagrams for the whole
// machine. Client, proxy and server have their own network namespaces, connected by veth,
// and nothing is pinned. It compares no proxy (routed), nginx, and farms of Sluice in
// userspace and in the kernel. It contains only tests. They need root and namespaces and
// run if SLUICE_BENCH is set, e.g. by `make bench`.
//
// The case l4-udp of the bench is the same on loopback, with the proxy pinned to its own
// CPU. There each datagram is passed alone and wakes a process. Here a packet with
// several datagrams (UDP_SEGMENT) passes the devices as one, and the scheduler places the
// processes.
package roundtrips

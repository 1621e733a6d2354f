// Package roundtrips measures what datagrams of 64 B there and back cost the whole
// machine when client, proxy and server have network namespaces of their own,
// joined by veth, and nothing is pinned: without a proxy (routed), through nginx,
// and through farms of Sluice, carried in userspace and by the kernel. It has
// tests only, which take root and namespaces and run when SLUICE_BENCH is set, as
// `make bench` does.
//
// The case l4-udp of the bench is the same on loopback, with the proxy pinned to a
// processor of its own. There each datagram is handed over alone and wakes
// somebody; here what is sent as one packet (UDP_SEGMENT) passes the devices as
// one, and the scheduler decides who shares a processor.
package roundtrips

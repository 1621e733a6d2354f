package icmp

import "golang.org/x/sys/unix"

// all is the number of bytes that a filter accepts of a packet.
const all = 1 << 18

// filter4 accepts unfragmented ICMP errors, from the IP header on.
var filter4 = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 9},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.IPPROTO_ICMP, Jf: 8},
	{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 6},
	{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 0x3fff, Jt: 6},
	{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 0},
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_IND, K: 0},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 3, Jt: 2},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 11, Jt: 1},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 12, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: all},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
}

// filter6 accepts ICMPv6 errors.
var filter6 = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 6},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.IPPROTO_ICMPV6, Jf: 4},
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: head6},
	{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: 1, Jf: 2},
	{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: 4, Jt: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: all},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
}

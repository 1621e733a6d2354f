// Package iptables carries farms by iptables, for kernels without nf_tables.
//
// compile makes chains of the farms, for IPv4 and IPv6, and Filter has
// sysnet/iptables make each table anew in one transaction. Only nat and dnat are
// possible, without bounds; persistence goes by the match "recent", whose lists
// the kernel keeps to itself.
//
//	raw     SLUICE-HELPERS  connection tracking helpers          (PREROUTING)
//	mangle  SLUICE-MARKS    packet marks by connection mark      (PREROUTING)
//	        SLUICE-COUNT    backend by connection mark           (POSTROUTING, INPUT)
//	        SLUICE-C12      counts packets from and to clients of backend 12
//	filter  SLUICE-REFUSE   connections no backend can take      (INPUT, FORWARD, OUTPUT)
//	nat     SLUICE          farm by address, protocol and port   (PREROUTING, OUTPUT)
//	        SLUICE-F7       backend of farm 7
//	        SLUICE-B12      to backend 12
//	        SLUICE-K7       what farm 7 remembers while it is stopped (from nowhere)
//	        SLUICE-SOURCE   source address by connection mark    (POSTROUTING)
package iptables

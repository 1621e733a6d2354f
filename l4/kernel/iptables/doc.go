// Package iptables carries farms by iptables, for kernels without nf_tables.
//
// compile builds the chains of the farms for IPv4 and IPv6, and Filter loads each table in
// one transaction by sysnet/iptables. Only nat and dnat are possible, without connection
// limits. Persistence uses the match "recent", whose lists cannot be read or changed here.
//
//	raw     SLUICE-HELPERS  connection tracking helpers          (PREROUTING)
//	mangle  SLUICE-MARKS    packet marks by connection mark      (PREROUTING)
//	        SLUICE-COUNT    backend by connection mark           (POSTROUTING, INPUT)
//	        SLUICE-C12      counts packets from and to clients of backend 12
//	filter  SLUICE-REFUSE   connections no backend can take      (INPUT, FORWARD, OUTPUT)
//	nat     SLUICE          farm by address, protocol and port   (PREROUTING, OUTPUT)
//	        SLUICE-F7       backend of farm 7
//	        SLUICE-B12      to backend 12
//	        SLUICE-K7       client lists of farm 7 while stopped (not reached)
//	        SLUICE-SOURCE   source address by connection mark    (POSTROUTING)
package iptables

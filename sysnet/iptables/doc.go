// Package iptables manages chains of Sluice in the tables of iptables, for kernels
// without nf_tables. In other chains it changes only the jumps to ours, which have the
// comment "sluice".
//
// A Script is the wanted content of one family. Apply changes one table after the other,
// in the order of the script, each in one transaction of iptables-restore. Chains of ours
// that are not in the script are deleted.
package iptables

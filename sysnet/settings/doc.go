// Package settings applies settings of the appliance to services of the machine: DNS,
// NTP, ssh and SNMP.
//
// A [Request] contains typed values only: addresses, ports and a host name that is
// validated again here. The method [Machine.Do] writes our file of a service, has the
// service check and reload it, and returns problems in the [Answer]. Files are replaced
// atomically. Our files are named sluice and are deleted with the setting.
// /etc/resolv.conf belongs to the machine: its previous content is kept in a backup and
// restored.
//
// A Machine acts with the privileges of its process, which should have few others. The
// supervisor starts one process per request, confined to a single kind (cmd/role/hostd).
// [Machine.Look] needs no privileges.
package settings

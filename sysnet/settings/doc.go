// Package settings brings settings of the appliance to services of the machine:
// name servers, time, ssh and SNMP.
//
// A [Request] says what is wanted in types, never in words: addresses, ports, a
// host name that is checked again here. [Machine.Do] writes the one file that is ours of
// a service, has the service check and read it, and says in the [Answer] what was
// not possible. Files are replaced whole and atomically. What is ours is named
// sluice and goes with the setting; of /etc/resolv.conf, which is the machine's, what
// was there before is kept beside it and comes back.
//
// A Machine works with the rights of its process, which should have few others: the
// supervisor starts one for a single request and of a single kind (cmd/role, hostd).
// [State] needs none.
package settings

// Package outages measures how long a proxy still returns errors after both backends were
// gone for 3 s and are back, under constant load. It compares Sluice, HAProxy and nginx,
// each with its defaults and without health checks. It contains only tests. They need
// root and network namespaces and run if SLUICE_BENCH is set, e.g. by `make bench`.
//
// There are two kinds of outage. Link down: connects fail at once, as with a local cable
// fault. Packet loss: connects hang, as with a remote one. A request is sent every 20 ms
// on a new connection, and clients time out after 2 s. The figures count from the end of
// the outage: the time of the first 200 response and the time of the last request that
// failed.
package outages

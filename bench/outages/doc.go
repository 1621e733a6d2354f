// Package outages measures how long a proxy still says that there is nobody after
// all its backends were gone for 3 s and are back, while requests keep coming:
// Sluice, HAProxy and nginx, each with its defaults, two backends and no health
// checks. It has tests only, which take root and network namespaces and run when
// SLUICE_BENCH is set, as `make bench` does.
//
// There are two outages. The link is down: connects fail at once, as they do when
// a cable is pulled here. Packets are lost: connects hang, as they do when it is
// pulled elsewhere. A request comes every 20 ms on a connection of its own, and
// clients give up after 2 s. What counts is how long after the end of the outage the
// first one was answered with 200, and how long after it one came that was not.
package outages

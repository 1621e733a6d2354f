// Package server carries gslb farms. It receives queries by UDP and TCP on the loops of the
// process and answers them from the farm's zones (dns/zone). Names of type DYNA get the
// addresses chosen by services (dns/choose).
//
// A UDP query does not allocate or make its own system calls: queries and answers are handled
// in batches.
package server

// Package server carries gslb farms: it takes queries by UDP and TCP on the loops of
// the process and answers them from the zones of the farm (dns/zone), whose names of
// type DYNA are answered by what services choose (dns/choose).
//
// A query by UDP costs no allocation and no system call of its own: queries come in
// batches, and so do answers leave.
package server

// Package changes measures what operators cost traffic, and traffic operators, on a
// whole appliance with 1,000 farms of ten backends: how long a change takes until it
// is in force, what it takes from a request through one of the farms, and how fast the
// list of all farms is answered over TLS while traffic is as much as there can be. It has tests
// only, which take root and a network namespace and run when SLUICE_BENCH is set, as
// `make bench` does.
//
// Places, on a machine of two processors or more: the engine has one loop on the first;
// supervisor, mgmt, netd and progd are on the last, as are wrk, which loads the farm over 64
// kept connections without a pause, and the backend. The processor time of a role
// is what the kernel accounts it.
//
// Changes are made over TLS with a key, as a script would: a PUT of the weight of a backend, on
// one kept connection. Its answer says that the engine acknowledged what it compiled and
// that the revision is on disk, so the time to the answer is the longer one of both. A
// second kind of change can be seen by a client: the target of a redirect. After each, the
// farm has to answer with the new one at once.
package changes

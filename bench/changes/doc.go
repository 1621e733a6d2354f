// Package changes measures the mutual cost of configuration changes and traffic, on a
// complete appliance with 1,000 farms of ten backends. It measures the time until a
// change is in force, its effect on requests through a farm, and the rate of reading the
// list of all farms over TLS at maximum traffic. It contains only tests. They need root
// and a network namespace and run if SLUICE_BENCH is set, e.g. by `make bench`.
//
// Placement on a machine of two or more CPUs: the engine has one loop on the first CPU.
// The last CPU runs supervisor, mgmt, netd and progd, as well as the backend and wrk,
// which loads the farm over 64 kept connections without a pause. The CPU time of a role
// is that of the kernel's accounting.
//
// Changes are made over TLS with a key, as by a script: a PUT of the weight of a backend, on
// one kept connection. The response means that the engine has acknowledged the compiled
// configuration and that the revision is on disk, so the time covers both. A second kind of
// change is visible to clients: the target of a redirect. After each, the farm must respond
// with the new target at once.
package changes

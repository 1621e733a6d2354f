// Package supervisor starts the appliance and keeps it alive: it opens what
// the roles share, starts the processes engine, mgmt, netd and progd from this same
// binary, and starts each of them again when it dies.
//
// # What the supervisor owns
//
// The exclusive lock on the data directory, every listening socket that must
// outlive a role (API, command line, engine control, netd), the pair over which
// netd gives the engine marked sockets, that over which mgmt asks progd for programs, and the shared memory (control page,
// health table, counters). A role is given duplicates of what it needs and
// nothing else. Because the sockets stay open here, a client that connects
// while a role restarts waits in the backlog for the next one.
//
// # Users
//
// Started as root, engine and mgmt run under two uids of their own: the users
// "sluice-engine" and "sluice" when the system has them, else 61740 and 61741
// from the range systemd reserves for dynamic users (61184–65519). netd stays
// root with three capabilities, and progd root with those it takes to make each program a
// user of its own (boxes.go). The data directory belongs to mgmt's uid; mgmt
// gets it as a descriptor and never walks a path, so the directory may lie
// below one that only root can enter. Root itself touches the directory with
// mgmt's file-system identity (owner.go), so that links planted there by a
// captured mgmt lead nowhere mgmt could not go itself.
//
// Started by an ordinary user, all roles have that user's uid and everything
// else is the same.
//
// # Goroutines
//
// One runner per role, each locked to a thread of its own: the thread's rights
// are cut before it starts a process, and the role's parent-death signal is
// bound to it. One looks whether the engine goes on, and ends the life of one
// that does not. Run is the only other one that acts; state is read under one
// lock for `sluice status`.
package supervisor

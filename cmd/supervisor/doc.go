// Package supervisor starts the appliance and keeps it running. It opens the resources that
// the roles share, starts the processes engine, mgmt, netd and progd from this same binary,
// and restarts each of them when it dies.
//
// # Resources of the supervisor
//
// The supervisor holds the exclusive lock on the data directory and the shared memory
// (control page, health table, counters). It also holds every listening socket that must
// outlive a role (API, command line, engine control, netd), and two socket pairs. Over one,
// netd passes marked sockets to the engine; over the other, mgmt requests programs from
// progd. A role gets duplicates of the descriptors it needs. Because the sockets stay open,
// clients that connect while a role restarts wait in the backlog.
//
// # Users
//
// If root starts the supervisor, engine and mgmt run under separate uids: the users
// "sluice-engine" and "sluice" if they exist. Otherwise they are 61740 and 61741, from the
// range that systemd reserves for dynamic users (61184–65519). The role netd remains root
// with three capabilities. The role progd remains root with the capabilities to give each
// program its own user (boxes.go).
//
// The data directory belongs to mgmt's uid. mgmt gets it as a descriptor and resolves no
// path, so its parent directories may be accessible to root only. Root itself accesses the
// directory with mgmt's file-system identity (owner.go), so that links planted by a
// compromised mgmt give access only to files that mgmt can access itself.
//
// If an ordinary user starts the supervisor, all roles have that uid, and everything else is
// the same.
//
// # Goroutines
//
// Each role has a runner, locked to its own thread: the thread's privileges are reduced
// before it starts a process, and the role's parent-death signal is bound to it. Another
// goroutine per role detects a hanging process and ends it. Everything else runs on the
// goroutine of Run. `sluice status` reads the state under a lock.
package supervisor

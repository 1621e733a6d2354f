// Package publish brings a configuration to the engine. It has netd open the listeners that the
// configuration needs and the engine lacks, and hands both over in one step. After the
// acknowledgement netd closes the listeners that are no longer needed. Publisher is the
// apply.Publisher of mgmt.
//
// # Restarts of engine and netd
//
// Engine and netd are separate processes and may restart at any time. Run keeps the connection
// to the engine and requests a republication for each new engine. A new engine holds nothing
// and gets every listener from netd, the same sockets as its predecessor. A restart of netd
// does not interrupt traffic: the engine holds the sockets, and the client reconnects
// automatically.
//
// # Farms that cannot listen
//
// An address that no interface has, or a port that is in use, is a problem of its farm and is
// reported in the Outcome. mgmt/apply decides whether it refuses a change. Run retries such
// addresses every two seconds, and soon after this machine gets one. So a farm starts
// automatically when its address appears.
//
// # Kernel farms
//
// Kernel farms go to netd first, in a separate snapshot, and only when they changed. A farm
// that netd cannot install in the kernel has a problem. Check finds such problems beforehand,
// so that a refused change leaves the kernel and its connections untouched. Run polls netd and
// publishes again after a restart of netd, or when its list of problems changes.
//
// # Sockets with a mark
//
// netd creates sockets with a mark (SO_MARK) for the engine, only of the kinds in
// Options.Kinds. During a publication the kinds of the old and the new configuration are
// permitted, afterwards only the current ones.
//
// # Certificates
//
// A configuration only names certificates. Options.Complete adds them to a copy, which is
// encoded into sealed memory, sent and dropped. A farm whose certificates are missing is
// published as stopped and has a problem: it never runs with less protection than configured.
//
// # Goroutines
//
// Publish is safe for concurrent use and runs one publication at a time; mgmt/apply calls it
// under its own lock. State and Sessions are safe for concurrent use, too. State never blocks;
// Sessions waits only for the engine.
package publish

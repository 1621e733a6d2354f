// Package programs runs programs of the operator outside mgmt. It is the protocol between
// mgmt, which sends calls, and progd, which runs each program in its own box.
//
//	mgmt: Client.Run ──socket of the call──► progd: Server ──► Box ──► program
//	          (a pair that the supervisor made carries these sockets)
//
// mgmt makes a socket pair for each call and sends one end to progd over the pair that
// both inherited. The call is a line of JSON. progd sends one line when the program
// starts and one when it has ended. If the caller closes its socket, its program is
// killed, so a dead mgmt leaves no programs behind. The death of progd is noticed at
// once. Files that only mgmt may read are sent with the call.
//
// A Box has an exclusive uid and a private folder, the only one that its program may
// write to. When the program ends, all processes of the uid are killed and the folder is
// deleted. Without root there is no such uid, and a mark identifies the processes
// (family). Resource usage is checked while a program runs (Watch). Box.Confine, provided
// by cmd/harden, imposes further restrictions.
package programs

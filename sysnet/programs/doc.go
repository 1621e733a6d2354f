// Package programs starts programs of the operator away from mgmt: the contract between
// mgmt, which asks for one, and progd, which starts it in a box of its own.
//
//	mgmt: Client.Run ──socket of the call──► progd: Server ──► Box ──► program
//	          (a pair that the supervisor made carries these sockets)
//
// mgmt makes a pair of sockets for each call and hands one to progd over the pair that
// both inherited. The call is a line of JSON; the answers are another one when the program
// starts, and one when it has ended. A caller that closes its
// socket has its program ended, so a mgmt that dies leaves nothing behind, and a progd that
// dies is noticed at once. A file that only mgmt may read travels with the call.
//
// A Box has a uid that nobody else has while it is lent, and a private folder, the only
// one that its program may write to. When the program ends, all processes of the uid are
// ended, and the folder is removed. Without root there is no such uid: its processes are
// known by a mark (family). What a program uses in all is looked at while it runs (Watch).
// What else it may not do is the matter of Box.Confine, which cmd/harden provides.
package programs

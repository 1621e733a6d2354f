// Package link is the control channel between mgmt and one engine: mgmt hands
// over snapshots and listener sockets, the engine answers what it made of them.
// mgmt may also ask for the persistence sessions of a service, change them, and
// ask what would become of a request.
//
// It is a unix socket of type SOCK_SEQPACKET ("unixpacket"). The engine serves,
// mgmt dials, and the kernel's word on who dials is checked:
//
//	engine → mgmt   Hello, once, at the start
//	mgmt → engine   a publication: one snapshot, any number of listeners
//	engine → mgmt   Ack, exactly one for each publication
//	mgmt → engine   a question, when the one before is answered
//	engine → mgmt   its answer, exactly one
//
// A message is CBOR, cut into frames when it is larger than one packet or
// carries more descriptors than one packet can:
//
//	0  protocol version (1)
//	1  1 when more frames of this message follow, else 0
//	2  piece of the message
//
// The engine faces whatever connects: a message that is not understood, or that
// does not come to its end in time, closes that connection and nothing else. A
// new connection replaces the old one, so a stuck mgmt cannot lock out its
// successor, and there is never more than one publisher.
//
// Publications go before questions: one waits for no question that is being
// answered, while questions wait for it, and may be given up without harm.
//
// Descriptors are owned by whoever received them last: what Handler.Publish is
// given as listeners is the handler's to keep or close.
package link
